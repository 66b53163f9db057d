"""A terminal gets a key of the agent that a person chose in the browser (RFC 8628)."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from oauth2_provider.models import DeviceGrant
from oauthlib.oauth2.rfc6749.errors import OAuth2Error

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent, ClientPolicy, DeviceSignIn, User
from accounts.oauth import cleanup
from accounts.oauth.device import terminals
from database.clock import database_now
from tests.accounts.oauth.terminal import Terminal, connect, decide, error_of, open_link, refuse
from tests.inbox.person import Person, text_of
from tests.wake.mcp.client import McpClient
from wake.models import Delivery


def code_of(outcome: terminals.IssuedKey | OAuth2Error) -> str:
    return str(getattr(outcome, "error", "issued"))


def expire() -> None:
    DeviceGrant.objects.update(expires=database_now() - timedelta(seconds=1))


def test_a_terminal_gets_the_key_that_a_person_approved(
    client: Any, alice: User, agent: Agent, settings: Any
) -> None:
    terminal = Terminal("olga-laptop")
    assert terminal.begun["verification_uri"] == "http://127.0.0.1:8000/device/"
    assert terminal.begun["verification_uri_complete"] == (
        f"http://127.0.0.1:8000/device/?code={terminal.code}"
    )
    assert (terminal.begun["expires_in"], terminal.begun["interval"]) == (600, 5)
    assert error_of(terminal.poll()) == "authorization_pending"

    page = open_link(alice, terminal.code)
    assert "olga-laptop" in text_of(page)
    assert terminal.code in text_of(page)
    answer = connect(alice, terminal.code, agent)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")

    got = terminal.poll()
    assert got.status_code == 200
    assert got.headers["Cache-Control"] == "no-store"
    issued = got.json()
    key = issued.pop("access_token")
    assert key.startswith("wk_live_")
    assert issued == {
        "token_type": "Bearer",
        "scope": "deliver",
        "agent_id": agent.agent_id,
        "team": agent.team.slug,
        "endpoint": settings.WAKE_ORIGIN,
        "expires_in": issued["expires_in"],
    }
    assert 30 * 86_400 - 60 < issued["expires_in"] <= 30 * 86_400
    receipt = McpClient(key).structured(
        "deliver", type="update", headline="Tanks are full", summary="All four."
    )
    assert Delivery.objects.get(pk=receipt["delivery_id"]).agent == agent


def test_it_is_in_the_audit_by_the_person(alice: User, agent: Agent) -> None:
    terminal = Terminal("olga-laptop")
    connect(alice, terminal.code, agent)
    terminal.poll()

    connected = AuditEvent.objects.get(event="terminal.connected")
    issued = AuditEvent.objects.get(event="key.issued")
    assert connected.actor_id == issued.actor_id == str(alice.pk)
    assert connected.detail["machine"] == "olga-laptop"
    assert ApiKey.objects.get().issued_by == alice.display_name


def test_a_key_comes_once(alice: User, agent: Agent) -> None:
    terminal = Terminal()
    connect(alice, terminal.code, agent)

    assert terminal.poll().status_code == 200
    assert error_of(terminal.poll()) == "invalid_grant"
    assert ApiKey.objects.count() == 1
    assert not DeviceGrant.objects.exists()


def test_a_new_agent_may_be_registered(alice: User, agent: Agent) -> None:
    terminal = Terminal("Olga's laptop")
    assert 'value="olga-s-laptop"' in open_link(alice, terminal.code).content.decode()

    fields = {"agent": "new:garden", "agent_id": "laptop", "days": "", "decision": "connect"}
    decide(alice, {"code": terminal.code, **fields})

    issued = terminal.poll().json()
    assert issued["agent_id"] == "laptop"
    assert "expires_in" not in issued


def test_the_agent_that_the_terminal_names_is_proposed(alice: User, agent: Agent) -> None:
    terminal = Terminal(agent_id=agent.agent_id)

    page = open_link(alice, terminal.code).content.decode()

    assert f'<option value="{agent.pk}" selected>' in page


def test_a_refused_terminal_is_told_so(alice: User, agent: Agent) -> None:
    terminal = Terminal()

    assert refuse(alice, terminal.code).status_code == 303

    assert error_of(terminal.poll()) == "access_denied"
    assert not ApiKey.objects.exists()


def test_a_code_expires(alice: User, agent: Agent) -> None:
    terminal, approved = Terminal(), Terminal()
    connect(alice, approved.code, agent)
    expire()

    assert error_of(terminal.poll()) == "expired_token"
    assert error_of(approved.poll()) == "expired_token"
    assert "This code doesn't work" in text_of(open_link(alice, terminal.code))
    assert not ApiKey.objects.exists()


@pytest.mark.usefixtures("db")
def test_a_terminal_that_asks_too_often_is_slowed_down() -> None:
    terminal = Terminal()
    begun_at = database_now()

    def after(seconds: float) -> str:
        at = begun_at + timedelta(seconds=seconds)
        return code_of(terminals.exchange(terminal.device_code, at=at))

    assert after(5) == "authorization_pending"
    assert after(9) == "authorization_pending"  # on its way, it lost less than a second
    assert after(11) == "slow_down"  # from now on, 10 seconds
    assert after(18) == "slow_down"  # from now on, 15 seconds
    assert after(33) == "authorization_pending"
    assert DeviceGrant.objects.get().interval == 15


def test_a_decision_comes_at_once_even_to_a_terminal_that_asks_too_often(
    alice: User, agent: Agent
) -> None:
    terminal = Terminal()
    terminal.poll()
    connect(alice, terminal.code, agent)

    assert terminal.poll().status_code == 200


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"device_code": ""}, 400, "invalid_request"),
        ({"device_code": "unknown"}, 400, "invalid_grant"),
        ({"device_code": "\0"}, 400, "invalid_grant"),
        ({"client_id": "another"}, 401, "invalid_client"),
        ({"client_id": ""}, 401, "invalid_client"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"grant_type": ""}, 400, "unsupported_grant_type"),
    ],
)
def test_a_wrong_poll_has_its_error(fields: dict[str, str], status: int, code: str) -> None:
    answer = Terminal().poll(**fields)

    assert (answer.status_code, answer.json()["error"]) == (status, code)


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"client_id": "another"}, 401, "invalid_client"),
        ({"client_id": "https://client.example/metadata.json"}, 401, "invalid_client"),
        ({"scope": "everything"}, 400, "invalid_scope"),
    ],
)
def test_a_wrong_request_for_a_code_has_its_error(
    fields: dict[str, str], status: int, code: str
) -> None:
    answer = Terminal().ask(**fields)

    assert (answer.status_code, answer.json()["error"]) == (status, code)


@pytest.mark.usefixtures("db")
def test_codes_are_asked_for_by_post() -> None:
    answer = Terminal().client.get("/oauth/device")

    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"


def test_a_person_who_left_issues_no_key(alice: User, agent: Agent) -> None:
    terminal = Terminal()
    connect(alice, terminal.code, agent)
    alice.memberships.all().delete()

    assert error_of(terminal.poll()) == "access_denied"
    assert not ApiKey.objects.exists()


def test_an_archived_agent_gets_no_key(alice: User, agent: Agent) -> None:
    terminal = Terminal()
    connect(alice, terminal.code, agent)
    Agent.objects.update(archived_at=database_now(), paused_at=database_now())

    assert error_of(terminal.poll()) == "access_denied"
    assert not ApiKey.objects.exists()


def test_an_agent_with_too_many_keys_is_explained_to_the_person(alice: User, agent: Agent) -> None:
    for _ in range(keys.MAX_USABLE):
        keys.mint(agent, by=SYSTEM)
    terminal = Terminal()

    answer = connect(alice, terminal.code, agent)

    assert answer.status_code == 422
    assert "This agent has 25 usable keys." in text_of(answer)
    assert error_of(terminal.poll()) == "authorization_pending"


def test_keys_that_were_issued_in_between_are_explained_to_the_terminal(
    alice: User, agent: Agent
) -> None:
    terminal = Terminal()
    connect(alice, terminal.code, agent)
    for _ in range(keys.MAX_USABLE):
        keys.mint(agent, by=SYSTEM)

    answer = terminal.poll()

    assert error_of(answer) == "access_denied"
    assert "25 usable keys" in answer.json()["error_description"]


def test_a_reviewer_needs_the_teams_leave(bob: User, agent: Agent) -> None:
    terminal = Terminal()
    assert "You can't connect terminals in any of your teams." in text_of(
        open_link(bob, terminal.code)
    )
    answer = Person(bob).client.post(
        "/device/",
        {"code": terminal.code, "agent": str(agent.pk), "days": "30", "decision": "connect"},
        by_hand=True,
    )
    assert answer.status_code == 422
    assert error_of(terminal.poll()) == "authorization_pending"

    ClientPolicy.objects.create(team=agent.team, who=ClientPolicy.Who.REVIEWERS)
    connect(bob, terminal.code, agent)

    assert terminal.poll().status_code == 200


def test_the_hosts_that_a_team_allows_say_nothing_about_terminals(
    alice: User, agent: Agent
) -> None:
    ClientPolicy.objects.create(team=agent.team, hosts="client.example")
    terminal = Terminal()

    connect(alice, terminal.code, agent)

    assert terminal.poll().status_code == 200


def test_no_one_may_connect_where_a_team_says_so(alice: User, agent: Agent) -> None:
    terminal = Terminal()
    connect(alice, terminal.code, agent)
    ClientPolicy.objects.create(team=agent.team, who=ClientPolicy.Who.NO_ONE)

    assert error_of(terminal.poll()) == "access_denied"
    assert "You can't connect terminals" in text_of(open_link(alice, Terminal().code))


def test_the_agent_of_another_team_is_not_offered(mallory: User, agent: Agent) -> None:
    terminal = Terminal()

    answer = Person(mallory).client.post(
        "/device/",
        {"code": terminal.code, "agent": str(agent.pk), "days": "30", "decision": "connect"},
        by_hand=True,
    )

    assert answer.status_code == 422
    assert error_of(terminal.poll()) == "authorization_pending"


@pytest.mark.usefixtures("db")
def test_a_network_gets_so_many_codes_an_hour() -> None:
    terminal = Terminal()
    answers = [terminal.ask() for _ in range(60)]

    assert answers[-2].status_code == 200
    assert (answers[-1].status_code, answers[-1].json()["error"]) == (
        429,
        "temporarily_unavailable",
    )
    assert answers[-1].headers["Retry-After"]


@pytest.mark.usefixtures("db")
def test_codes_are_stored_in_a_form_that_opens_nothing() -> None:
    terminal = Terminal()

    assert terminal.device_code not in str(DeviceGrant.objects.values().get())


def test_what_no_one_finished_is_deleted(alice: User, agent: Agent) -> None:
    approved, waiting = Terminal(), Terminal()
    connect(alice, approved.code, agent)
    now = database_now()

    cleanup.forget_unused(at=now + timedelta(minutes=30))
    assert error_of(waiting.poll()) == "authorization_pending"
    cleanup.forget_unused(at=now + timedelta(hours=2))

    assert not DeviceGrant.objects.exists()
    assert not DeviceSignIn.objects.exists()
    assert error_of(waiting.poll()) == "invalid_grant"


@pytest.mark.django_db(transaction=True)
def test_two_polls_at_once_get_one_key(alice: User, agent: Agent) -> None:
    terminal = Terminal()
    connect(alice, terminal.code, agent)
    together = Barrier(4)

    def poll(_: int) -> str:
        try:
            together.wait(timeout=30)
            return code_of(terminals.exchange(terminal.device_code, at=database_now()))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = Counter(pool.map(poll, range(4)))

    assert answers == {"issued": 1, "invalid_grant": 3}
    assert ApiKey.objects.count() == 1
