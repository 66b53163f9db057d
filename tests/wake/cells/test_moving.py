"""A team moves to another server and back, and nothing is lost (docs/cells.md)."""

from __future__ import annotations

import base64
import json
from datetime import timedelta

import pytest
from django.core.management import call_command

from accounts.log import beginning, sweep
from accounts.models import AuditEvent, LogCheckpoint, Team, TeamMove, User
from database.clock import database_now
from inbox.search.index import index_new
from tests.fixtures.agent_client import AgentClient
from tests.wake.cells import judge
from tests.wake.cells.conftest import A, Servers
from tests.wake.cells.full_team import FullTeam, build_simple
from wake.management.moving.tables import moved_tables
from wake.models import Claim, Delivery, EventCounts, Receipt, Response
from wake.proof.receipt_keys import key_set, key_sets_of_earlier_servers
from wake.proof.receipts import of_sent_answer
from wake.server.metrics.counting import count_new
from wake_client.proof.verdicts import judge as verify

pytestmark = pytest.mark.slow


def agent_of(full: FullTeam) -> AgentClient:
    full.data.key.text = full.data.key_text  # type: ignore[attr-defined]
    return AgentClient(full.data.key, full.data.agent.agent_id)


def test_every_table_has_a_row(servers: Servers, full: FullTeam, team: Team) -> None:
    with servers.a.here():
        empty = [table.label for table in moved_tables() if not table.rows_of(team.pk).exists()]

    assert empty == []


def test_nothing_is_lost_there_and_back(
    servers: Servers, full: FullTeam, team: Team, mallory: User, subtests: pytest.Subtests
) -> None:
    a, b = servers.a, servers.b
    with a.here():
        build_simple(mallory.teams.get(), words="theirplan")
        before, events = judge.everything_of(team), judge.events_of(team)
        others = judge.raw_rows(but=team)
    with b.here():
        stranger = User.objects.create_user("stranger@example.com")
        at_b = Team.objects.create(slug="elsewhere", name="Elsewhere")
        at_b.memberships.create(user=stranger, role="owner")
        for _ in range(3):  # the numbers of the two servers differ
            Team.objects.create(slug="gone", name="Gone").delete()
        build_simple(at_b, words="elsewhere")
        others_at_b = judge.raw_rows()

    servers.move(team.slug, a, b, "there")

    with b.here():
        there = Team.objects.get(slug=team.slug)
        with subtests.test("everything is there"):
            assert there.pk != team.pk
            assert judge.everything_of(there) == before
            assert judge.events_of(there)[: len(events)] == events
        with subtests.test("the other team there is untouched"):
            assert judge.raw_rows(but=there) == others_at_b
        with subtests.test("search finds its deliveries there"):
            index_new(at=database_now())
            assert Delivery.objects.filter(team=there, searchable__isnull=True).count() == 0
        with subtests.test("the log of the other server is whole"):
            sweep.append_new(at=database_now())
            call_command("audit_verify", "--all")
    with a.here():
        with subtests.test("the other team here is untouched"):
            assert judge.raw_rows(but=team) == others
        a.run("remove", team.slug)
        with subtests.test("no row is left here"):
            assert not Team.objects.filter(pk=team.pk).exists()
            assert judge.raw_rows() == others

    servers.move(team.slug, b, a, "back")

    with a.here():
        with subtests.test("everything is back, with the same number"):
            assert judge.everything_of(Team.objects.get(pk=team.pk)) == before
            assert AuditEvent.objects.filter(team_id=team.pk, event="team.added").count() <= 1
            own = [row[1] for row in judge.events_of(team)]
            assert own[: len(events)] == [row[1] for row in events]
            assert own[len(events) :] == [
                "team.move_began", "team.left", "team.removed",
                "team.arrived", "team.opened", "team.move_began",  # copies of the other server's
                "team.arrived", "team.opened",
            ]  # fmt: skip
        with subtests.test("and the other team is still untouched"):
            assert judge.raw_rows(but=team) == others
        with subtests.test("the log is whole"):
            sweep.append_new(at=database_now())
            call_command("audit_verify", "--all")


def test_agents_go_on_with_the_same_keys(
    servers: Servers, full: FullTeam, team: Team, subtests: pytest.Subtests
) -> None:
    answered = full.data.response.delivery_id
    paths = [f"response/{answered}", "responses", f"receipt/{answered}"]
    with servers.a.here():
        given = [agent_of(full).get(path).content for path in paths]

    servers.move(team.slug, servers.a, servers.b)

    with servers.b.here():
        with subtests.test("the same answers"):
            assert [agent_of(full).get(path).content for path in paths] == given
        with subtests.test("the same delivery again"):
            agent = agent_of(full)
            first = agent.post(agent.payload(), **{"Idempotency-Key": "k"})
            again = agent.post(agent.payload(), **{"Idempotency-Key": "k"})
            assert (first.status_code, again["Idempotency-Replayed"]) == (201, "true")
        with subtests.test("the secret of callbacks"):
            [secret] = full.data.agent.signing_secrets.all()
            assert secret.ciphertext != ""
        with subtests.test("the callback is sent from there"):
            callback = type(full.due_callback).objects.get(pk=full.due_callback.pk)
            assert callback.lease is None
            assert callback.due_at is not None


def test_receipts_stay_verifiable(servers: Servers, full: FullTeam, team: Team) -> None:
    path = f"receipt/{full.data.response.delivery_id}"
    with servers.a.here():
        keys_of_a = key_set()
        alone = agent_of(full).get(path).content

    servers.move(team.slug, servers.a, servers.b)

    with servers.a.here():
        keys_of_a = key_set()
    with servers.b.here():
        assert LogCheckpoint.objects.count() == 0
        proof = agent_of(full).get(path, proof=1)
        assert proof.status_code == 200, proof.content
        assert agent_of(full).get(path).content == alone
        verdicts = verify(proof.content.decode(), keys_of_a).by_name()
        assert (verdicts["signed"].value, verdicts["logged"].value) == (True, True)
        assert key_set() == {"keys": []}, "a server publishes only its own keys"
        assert Receipt.objects.get().key.issuer == servers.a.origin
        there = Team.objects.get(slug=team.slug)
        [(host, keys)] = key_sets_of_earlier_servers(there.pk)
        assert (host, keys["keys"]) == ("a.example.com", keys_of_a["keys"])
        sweep.append_new(at=database_now())
        call_command("audit_verify", "--all")


def test_people_can_undo_their_answer_for_as_long_as_before(
    servers: Servers, full: FullTeam, team: Team
) -> None:
    with servers.a.here():
        held = Response.objects.get(pk=full.held.pk)

    servers.move(team.slug, servers.a, servers.b)

    with servers.b.here():
        moved = Response.objects.get(pk=full.held.pk)
        move = TeamMove.objects.get()
        assert move.ended_at is not None
        assert moved.responded_at is None
        assert moved.release_at - held.release_at == move.ended_at - move.began_at


def test_a_team_may_be_older_than_its_new_server(
    servers: Servers, full: FullTeam, team: Team
) -> None:
    with servers.a.here():
        Team.objects.filter(pk=team.pk).update(created_at=team.created_at - timedelta(days=400))

    servers.move(team.slug, servers.a, servers.b)

    with servers.b.here():
        assert beginning.problem() == ""
        Team.objects.create(
            slug="older", name="Older", created_at=team.created_at - timedelta(days=400)
        )
        assert "older than the first event" in beginning.problem()


def test_a_signature_of_another_address_is_in_no_new_receipt(
    servers: Servers, full: FullTeam, team: Team
) -> None:
    """A receipt of the new server cannot confirm a signature that names the earlier address."""
    client_data = base64.urlsafe_b64encode(json.dumps({"origin": A}).encode()).rstrip(b"=")
    signature = json.dumps({"signature": "s", "client_data_json": client_data.decode()})
    with servers.a.here():
        Response.objects.filter(pk=full.data.response.pk).update(signature_json=signature)
        Receipt.objects.all().delete()
        here = of_sent_answer(full.data.response.delivery_id, at=database_now())
        assert here is not None
        assert here.signature_disclosures != ""
        Claim.objects.all().delete()

    servers.move(team.slug, servers.a, servers.b)

    with servers.b.here():
        there = of_sent_answer(full.data.response.delivery_id, at=database_now())
        assert there is not None
        assert (there.key.issuer, there.signature_disclosures) == ("", "")


def test_the_deliveries_of_a_team_are_counted_on_one_server(
    servers: Servers, full: FullTeam, team: Team
) -> None:
    servers.move(team.slug, servers.a, servers.b)

    with servers.b.here():
        agent = agent_of(full)
        agent.post(agent.payload(type="update"))
        sweep.append_new(at=database_now())
        count_new()
        assert EventCounts.objects.get().deliveries == {"update": 1}
