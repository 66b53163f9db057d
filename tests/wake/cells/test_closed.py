"""While a team moves, no one can use it on either server, and no job works on its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from celery import current_app
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.management import operator
from accounts.models import Agent, Team, TeamMove, User
from accounts.models.moves import path_to_team
from database.sweeps import to_work_on
from relay.models import Card, Event
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person
from tests.wake.cells import judge
from tests.wake.cells.conftest import Servers
from tests.wake.cells.full_team import FullTeam
from wake.management.moving import closing, leaving
from wake.models import Delivery, Response

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def closed(servers: Servers, full: FullTeam, team: Team) -> TeamMove:
    with servers.a.here():
        return closing.close(team, server=servers.b.origin, by=operator.OPERATOR, at=timezone.now())


def left(move: TeamMove) -> None:
    TeamMove.objects.filter(pk=move.pk).update(state="left", ended_at=timezone.now())


def agent_of(full: FullTeam) -> AgentClient:
    full.data.key.text = full.data.key_text  # type: ignore[attr-defined]
    return AgentClient(full.data.key, full.data.agent.agent_id)


def make_everything_due(full: FullTeam) -> None:
    """Leaves work for the jobs: deadlines, steps, held answers and pushes, beside what the team has
    anyway."""
    now = timezone.now()
    pk = agent_of(full).deliver(timeout_seconds=60)
    Delivery.objects.filter(pk=pk).update(expires_at=now, escalates_at=now)
    Response.objects.filter(pk=full.held.pk).update(release_at=now)
    Event.objects.update(push_due_at=now)


def run_every_job() -> None:
    current_app.loader.import_default_modules()
    for entry in current_app.conf.beat_schedule.values():
        current_app.tasks[entry["task"]]()


def test_no_job_changes_a_row_of_a_closed_team(
    servers: Servers, full: FullTeam, team: Team
) -> None:
    with servers.a.here():
        make_everything_due(full)
        closing.close(team, server=servers.b.origin, by=operator.OPERATOR, at=timezone.now())
        before = judge.everything_of(team)

        run_every_job()

        assert judge.everything_of(team) == before


def test_the_same_jobs_work_on_an_open_team(servers: Servers, full: FullTeam, team: Team) -> None:
    with servers.a.here():
        make_everything_due(full)
        before = judge.everything_of(team)

        run_every_job()

        after = judge.everything_of(team)
        changed = {label for label in before if after[label] != before[label]}
        assert changed >= {
            "inbox.NotedUntil", "inbox.Notification", "relay.Event", "relay.Run",
            "wake.Callback", "wake.Delivery", "wake.Response", "wake.Trial", "wake.TriedUntil",
        }  # fmt: skip


def test_agents_are_told_to_wait_and_then_where_to_go(
    servers: Servers, full: FullTeam, team: Team, closed: TeamMove, subtests: pytest.Subtests
) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "deliver": lambda: agent_of(full).post(agent_of(full).payload()),
        "poll": lambda: agent_of(full).get(f"response/{full.data.delivery.pk}"),
        "long poll": lambda: agent_of(full).get(f"response/{full.data.delivery.pk}", wait=5),
        "sweep": lambda: agent_of(full).get("responses"),
        "upload": lambda: agent_of(full).upload(b"x", "text/plain"),
        "connector": lambda: Client().get("/connect/v1/agent", headers=agent_of(full).headers),
    }
    with servers.a.here():
        for name, call in calls.items():
            with subtests.test(f"{name}, while it moves"):
                refused = call()
                assert refused.status_code == 503
                assert refused.json()["error"]["code"] == "team_moving"
                assert refused["Retry-After"] == "60"
        left(closed)
        for name, call in calls.items():
            with subtests.test(f"{name}, when it has moved"):
                refused = call()
                assert refused.status_code == 421
                error = refused.json()["error"]
                assert error["code"] == "team_moved"
                assert servers.b.origin in error["message"]
                assert refused["Wake-Moved-To"] == servers.b.origin


def test_a_key_that_this_process_remembers_is_told_the_same(
    servers: Servers, full: FullTeam, team: Team
) -> None:
    with servers.a.here():
        agent = agent_of(full)
        assert agent.post(agent.payload()).status_code == 201

        closing.close(team, server=servers.b.origin, by=operator.OPERATOR, at=timezone.now())

        assert agent.post(agent.payload()).status_code == 503
        assert agent.get("responses").status_code == 503


def test_mcp_says_it_as_json_rpc(servers: Servers, full: FullTeam, closed: TeamMove) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    with servers.a.here():
        refused = Client().post(
            "/mcp", body, content_type="application/json", headers=agent_of(full).headers
        )

    assert refused.status_code == 503
    assert refused.json()["error"]["data"]["code"] == "team_moving"


def test_callers_over_a2a_are_told_as_well(
    servers: Servers, full: FullTeam, team: Team, closed: TeamMove
) -> None:
    path = f"/@{team.slug}/{full.data.agent.agent_id}"
    body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}
    with servers.a.here():
        card = Client().get(f"{path}/.well-known/agent-card.json")
        call = Client().post(path, body, content_type="application/json")
        assert (card.status_code, call.status_code) == (503, 503)
        assert "error" in call.json()

        left(closed)
        card = Client().get(f"{path}/.well-known/agent-card.json")
        call = Client().post(path, body, content_type="application/json")

    assert (card.status_code, call.status_code) == (421, 421)
    assert call["Wake-Moved-To"] == card["Wake-Moved-To"] == servers.b.origin


def test_people_see_where_their_team_is(
    servers: Servers, full: FullTeam, team: Team, alice: User, mallory: User, closed: TeamMove
) -> None:
    path = f"/deliveries/{full.data.delivery.pk}/"
    with servers.a.here():
        alices, mallorys = Person(alice), Person(mallory)
        assert "is moving to another server" in alices.get(path).content.decode()

        left(closed)

        there = f'href="{servers.b.origin}{path}"'
        assert there in alices.client.get(path).content.decode()
        assert servers.b.origin in alices.client.get("/").content.decode()
        assert servers.b.origin in alices.client.get("/settings/teams/").content.decode()
        for page in (path, "/", "/settings/teams/"):
            assert servers.b.origin not in mallorys.client.get(page).content.decode()


def test_the_operator_cannot_add_to_a_closed_team(
    servers: Servers, full: FullTeam, team: Team, closed: TeamMove
) -> None:
    with servers.a.here():
        with pytest.raises(ValidationError, match="moves to another server"):
            operator.issue_key("painter", team_slug=team.slug, mode="live")
        with pytest.raises(operator.NoSuchAgent):
            operator.issue_gate("Gate", agent_ids=[], team_slug=team.slug)


def test_a_team_is_closed_once(servers: Servers, team: Team, closed: TeamMove) -> None:
    with servers.a.here(), pytest.raises(closing.AlreadyClosed):
        closing.close(team, server=servers.b.origin, by=operator.OPERATOR, at=timezone.now())


def test_undo_brings_everything_back(servers: Servers, full: FullTeam, team: Team) -> None:
    with servers.a.here():
        before = judge.raw_rows()
        move = closing.close(team, server=servers.b.origin, by=operator.OPERATOR, at=timezone.now())
        assert judge.raw_rows() != before

        leaving.stay(move, by=operator.OPERATOR)

        after = judge.raw_rows()
        for rows in (before, after):
            for response in rows["wake.Response"]:
                del response["release_at"]  # the time to undo goes on
            for assignment in rows["wake.Assignment"]:
                del assignment["current_until"]  # memberships have changed
        assert after == before
        assert agent_of(full).post(agent_of(full).payload()).status_code == 201


def test_jobs_leave_out_only_closed_teams(
    servers: Servers, full: FullTeam, team: Team, closed: TeamMove, agent: Agent
) -> None:
    with servers.a.here():
        assert not to_work_on(Delivery.objects.filter(team=team)).exists()
        assert not to_work_on(Card.objects.all()).exists()
        left(closed)
        assert not to_work_on(Delivery.objects.filter(team=team)).exists()
        TeamMove.objects.update(removed_at=timezone.now())
        assert to_work_on(Delivery.objects.filter(team=team)).exists()
        assert to_work_on(User.objects.all()).count() == User.objects.count()
        assert path_to_team(Team) == ("pk",)
