"""Owners register agents and manage their keys in the browser; each key is shown once."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.agents import credential_version, keys, registration, signing_secrets
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent, Membership, SigningSecret, Team, User
from relay.models import CallerKey
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of


def register(person: Person, team: Team, agent_id: str) -> Any:
    return person.client.post("/agents/new/", {"team": team.pk, "agent_id": agent_id})


def issue(person: Person, agent: Agent, **fields: Any) -> Any:
    given = {"mode": "live", "days": "", "version": credential_version.current(agent), **fields}
    return person.client.post(f"/agents/{agent.pk}/keys/new/", given)


def rotate(person: Person, key: ApiKey, **fields: Any) -> Any:
    given = {
        "overlap": "3600",
        "days": "",
        "version": credential_version.current(key.agent),
        **fields,
    }
    return person.client.post(f"/agents/{key.agent_id}/keys/{key.pk}/rotate/", given)


def revoke(person: Person, key: ApiKey) -> Any:
    return person.client.post(f"/agents/{key.agent_id}/keys/{key.pk}/revoke/", follow=True)


def text_shown(answer: Any) -> str:
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    [text] = re.findall(r'<code class="secret" id="once">(\S+)</code>', answer.content.decode())
    return str(text)


# Registering --------------------------------------------------------------------------------------


def test_an_owner_registers_an_agent_and_sees_its_secret_once(alices: Person, team: Team) -> None:
    answer_page = register(alices, team, "writing-agent")

    agent = Agent.objects.get(agent_id="writing-agent")
    assert agent.team == team
    assert signing_secrets.secrets_of(agent.pk) == [text_shown(answer_page)]
    assert f"/agents/{agent.pk}/keys/new/" in answer_page.content.decode()
    event = AuditEvent.objects.get(event="agent.registered")
    assert (event.actor_name, event.address) == ("alice", "127.0.0.1")
    assert text_shown(answer_page) not in alices.get(f"/agents/{agent.pk}/").content.decode()


def test_the_list_of_agents_links_owners_to_registration(alices: Person, bobs: Person) -> None:
    assert 'href="/agents/new/"' in alices.get("/agents/").content.decode()
    assert 'href="/agents/new/"' not in bobs.get("/agents/").content.decode()
    assert alices.get("/agents/new/").status_code == 200
    assert bobs.get("/agents/new/").status_code == 403


def test_a_team_has_an_id_once_however_often_the_form_is_sent(alices: Person, team: Team) -> None:
    register(alices, team, "writing-agent")

    twice = register(alices, team, " writing-agent ")
    Agent.objects.update(created_at=timezone.now() - registration.JUST_NOW)
    later = register(alices, team, "writing-agent")

    assert twice.status_code == 410
    assert "writing-agent already exists" in text_of(twice)
    assert f"/agents/{Agent.objects.get().pk}/secret/" in twice.content.decode()
    assert later.status_code == 422
    assert "This team already has an agent with this ID." in text_of(later)
    assert Agent.objects.count() == SigningSecret.objects.count() == 1


@pytest.mark.parametrize("agent_id", ["", "  ", "x" * 129, "two\nlines", "nothing\x00"])
def test_an_invalid_id_registers_nothing(alices: Person, team: Team, agent_id: str) -> None:
    page = register(alices, team, agent_id)

    assert page.status_code == 422
    assert not Agent.objects.exists()


def test_an_owner_of_two_teams_chooses_one(alices: Person, second_team: Team, team: Team) -> None:
    one = alices.get("/agents/new/").content.decode()
    Membership.objects.filter(team=second_team).update(role=Membership.Role.OWNER)

    two = alices.get("/agents/new/").content.decode()
    register(alices, second_team, "writing-agent")

    assert "Orchard" not in one
    assert "Orchard" in two
    assert "Garden" in two
    assert Agent.objects.get().team == second_team


def test_the_first_steps_of_a_team_preselect_it(
    alices: Person, second_team: Team, team: Team
) -> None:
    Membership.objects.filter(team=second_team).update(role=Membership.Role.OWNER)
    steps = alices.get("/", team=second_team.slug).content.decode()

    chosen = alices.get("/agents/new/", team=second_team.slug).context["form"]
    unknown = alices.get("/agents/new/", team="nowhere").context["form"]

    assert f'href="/agents/new/?team={second_team.slug}"' in steps
    assert (chosen["team"].initial, unknown["team"].initial) == (second_team, team)


def test_only_an_owner_of_the_team_registers_an_agent(
    alices: Person, second_team: Team, mallory: User
) -> None:
    answers = [
        register(alices, second_team, "writing-agent"),
        register(alices, mallory.teams.get(), "writing-agent"),
    ]

    assert [answer.status_code for answer in answers] == [422, 422]
    assert not Agent.objects.exists()


# Issuing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["live", "test"])
def test_a_key_is_shown_once_and_delivers(alices: Person, agent: Agent, mode: str) -> None:
    text = text_shown(issue(alices, agent, mode=mode, days="90"))

    key = keys.find(text, at=timezone.now())
    assert key is not None
    assert (key.mode, key.issued_by, key.agent) == (mode, "alice", agent)
    assert key.expires_at is not None
    assert timedelta(days=89) < key.expires_at - timezone.now() < timedelta(days=90)
    key.text = text  # type: ignore[attr-defined]
    AgentClient(key, agent.agent_id).deliver()
    page = alices.get(f"/agents/{agent.pk}/")
    assert f"{key.hint} Active" in text_of(page)
    assert "by alice last used" in text_of(page)
    assert text not in page.content.decode()


def test_a_key_comes_with_the_command_that_sets_it(alices: Person, agent: Agent) -> None:
    page = issue(alices, agent)

    assert f"export WAKE_API_KEY={text_shown(page)}" in text_of(page)


def test_the_same_form_sent_again_makes_no_second_key(alices: Person, agent: Agent) -> None:
    version = credential_version.current(agent)
    issue(alices, agent, version=version)

    again = issue(alices, agent, version=version)

    assert again.status_code == 410
    assert "No longer visible" in text_of(again)
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("wrong", [{"mode": "both"}, {"days": "7"}, {"version": ""}, {"mode": ""}])
def test_an_invalid_form_issues_nothing(
    alices: Person, agent: Agent, wrong: dict[str, str]
) -> None:
    assert issue(alices, agent, **wrong).status_code == 422
    assert not ApiKey.objects.exists()


def test_more_keys_than_the_limit_are_refused_with_a_sentence(
    alices: Person, key: ApiKey, agent: Agent
) -> None:
    for _ in range(keys.MAX_USABLE - 1):
        keys.mint(agent, by=SYSTEM)

    answers = [issue(alices, agent), rotate(alices, key)]

    for answer in answers:
        assert answer.status_code == 422
        assert "Couldn't save. This agent has 25 usable keys. Revoke one" in text_of(answer)
    assert agent.keys.filter(expires_at=None).count() == agent.keys.count() == keys.MAX_USABLE
    assert text_shown(rotate(alices, key, overlap="0"))


# Rotating and revoking ----------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", ["3600", "86400", "604800"])
def test_while_a_key_is_rotated_both_work(alices: Person, key: ApiKey, seconds: str) -> None:
    at = timezone.now()
    text = text_shown(rotate(alices, key, overlap=seconds))

    key.refresh_from_db()
    assert key.expires_at is not None
    assert timedelta() <= key.expires_at - at - timedelta(seconds=int(seconds)) < timedelta(hours=1)
    assert keys.find(key.text, at=key.expires_at - timedelta(seconds=1)) == key  # type: ignore[attr-defined]
    assert keys.find(key.text, at=key.expires_at) is None  # type: ignore[attr-defined]
    new = keys.find(text, at=at)
    assert new is not None
    assert (new.agent, new.mode, new.expires_at) == (key.agent, "live", None)


def test_an_old_key_can_stop_at_once(alices: Person, key: ApiKey, caller: AgentClient) -> None:
    answer_page = rotate(alices, key, overlap="0", days="365")

    assert "no longer works. The new key expires on" in text_of(answer_page)
    assert caller.get("responses").status_code == 401


def test_when_two_owners_rotate_one_key_the_second_sees_a_message(
    alices: Person, key: ApiKey
) -> None:
    version = credential_version.current(key.agent)
    rotate(alices, key, version=version)
    ends = ApiKey.objects.get(pk=key.pk).expires_at

    second = rotate(alices, key, version=version, overlap="0")

    assert second.status_code == 410
    assert ApiKey.objects.count() == 2
    assert ApiKey.objects.get(pk=key.pk).expires_at == ends


def test_a_key_revoked_meanwhile_is_not_rotated(alices: Person, key: ApiKey) -> None:
    keys.revoke(key, by=SYSTEM, at=timezone.now())

    answer = rotate(alices, key)

    assert answer.status_code == 303
    page = text_of(alices.get(answer["Location"]))
    assert "This key was revoked or has expired. Issue a new one." in page
    assert ApiKey.objects.count() == 1


def test_revoking_asks_for_confirmation(alices: Person, key: ApiKey, caller: AgentClient) -> None:
    asked = text_of(alices.get(f"/agents/{key.agent_id}/keys/{key.pk}/revoke/"))
    assert caller.get("responses").status_code == 200

    page = text_of(revoke(alices, key))

    assert f"Revoke {key.hint}" in asked
    assert f"{key.hint} was revoked. It no longer works." in page
    assert f"{key.hint} Revoked" in page
    assert caller.get("responses").status_code == 401
    assert AuditEvent.objects.get(event="key.revoked").actor_name == "alice"
    revoke(alices, key)
    assert AuditEvent.objects.filter(event="key.revoked").count() == 1


# Permissions -------------------------------------------------------------------------------------


def test_showing_or_ending_a_secret_asks_for_the_password_again(
    alices: Person, key: ApiKey, team: Team
) -> None:
    session = alices.client.session
    session["password_at"] = (timezone.now() - timedelta(minutes=16)).timestamp()
    session.save()
    here = f"/agents/{key.agent_id}/"

    answers = [
        register(alices, team, "writing-agent"),
        issue(alices, key.agent),
        rotate(alices, key),
        alices.client.post(f"{here}keys/{key.pk}/revoke/"),
        alices.client.post(f"{here}secret/", {"version": credential_version.current(key.agent)}),
        alices.client.post(
            f"{here}secret/switch", {"version": credential_version.current(key.agent)}
        ),
        alices.client.post(f"{here}aliases/", {"pattern": "other-*"}),
        alices.get(f"{here}keys/new/"),
    ]

    assert {answer.status_code for answer in answers} == {303}
    assert all(answer["Location"].startswith("/sudo/?next=") for answer in answers)
    assert [(each.revoked_at, each.expires_at) for each in ApiKey.objects.all()] == [(None, None)]
    assert Agent.objects.count() == 1
    assert alices.get(here).status_code == 200


@pytest.mark.parametrize("role", ["bobs", "ritas"])
def test_members_who_are_not_owners_see_no_buttons(
    role: str, request: pytest.FixtureRequest, key: ApiKey, team: Team, caller: AgentClient
) -> None:
    person: Person = request.getfixturevalue(role)
    caller.deliver()

    page = person.get(f"/agents/{key.agent_id}/")
    answers = [
        register(person, team, "writing-agent"),
        issue(person, key.agent),
        rotate(person, key),
        revoke(person, key),
    ]

    assert f"{key.hint} Active" in text_of(page)
    assert "last used" in text_of(page)
    main = page.content.decode().partition("<main")[2]
    assert "<button" not in main
    assert "/keys/" not in main
    assert [answer.status_code for answer in answers] == [403] * 4
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("becomes", [None, Membership.Role.REVIEWER])
@pytest.mark.parametrize("what", ["register", "issue", "rotate", "secret", "switch", "caller"])
def test_a_former_owner_is_shown_no_secret(
    what: str, becomes: str | None, alices: Person, key: ApiKey, team: Team
) -> None:
    """Another owner takes the role away, between the first check of the role and the lock."""
    here, version = f"/agents/{key.agent_id}/", {"version": credential_version.current(key.agent)}
    asks: dict[str, Callable[[], Any]] = {
        "register": lambda: register(alices, team, "writing-agent"),
        "issue": lambda: issue(alices, key.agent),
        "rotate": lambda: rotate(alices, key),
        "secret": lambda: alices.client.post(f"{here}secret/", version),
        "switch": lambda: alices.client.post(f"{here}secret/switch", version),
        "caller": lambda: alices.client.post(f"{here}callers/new/", {"name": "Otto", "version": 0}),
    }

    with connection.execute_wrapper(_loses_the_team(alices.user, becomes)):
        answer = asks[what]()

    assert answer.status_code == 403
    assert "You no longer own this team, so nothing was changed." in text_of(answer)
    assert credential_version.current(key.agent) == version["version"]
    assert [(each.revoked_at, each.expires_at) for each in ApiKey.objects.all()] == [(None, None)]
    assert (Agent.objects.count(), CallerKey.objects.count()) == (1, 0)


def _loses_the_team(user: User, becomes: str | None) -> Callable[..., Any]:
    """Takes the role away as the transaction begins. In a test, the transaction is a savepoint."""

    def run(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("SAVEPOINT"):
            theirs = Membership.objects.filter(user=user, role=Membership.Role.OWNER)
            theirs.update(role=becomes) if becomes else theirs.delete()
        return execute(sql, params, many, context)

    return run
