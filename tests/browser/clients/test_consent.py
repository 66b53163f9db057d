"""A client signs in through the browser, delivers, and is ended while it waits."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from accounts.audit import person
from accounts.models import Agent, OAuthGrant, Team, User
from accounts.sign_in.two_step import one_time_codes, second_factor
from accounts.teams import teams
from database.clock import database_now
from tests.accounts.sign_in.test_second_factor_pages import code_of
from tests.browser.clients.clients import LocalClient, local_client
from tests.browser.screen import Open, Screen
from tests.fixtures.people import PASSWORD
from tests.wake.server.up import eventually
from wake.models import Delivery

UPDATE = {"type": "update", "headline": "Tanks are full", "summary": "All four."}
QUESTION = {"headline": "Open the valve?", "summary": "The tanks are full."}


@pytest.fixture
def client(live_server: Any, transactional_db: None) -> Iterator[LocalClient]:
    with local_client(live_server.url) as client:
        assert client.register().status_code == 201
        yield client


@pytest.fixture
def secret(alice: User) -> str:
    """Sets up Alice's authenticator app."""
    new_secret, at = one_time_codes.new_secret(), database_now()
    code = one_time_codes.code_at(new_secret, one_time_codes.step_at(at) - 1)
    assert second_factor.turn_on(alice, new_secret, code, by=person(alice), at=at)
    return new_secret


def write_password(screen: Screen, user: User) -> None:
    screen.page.get_by_label("E-mail").fill(user.email)
    screen.page.get_by_label("Password", exact=True).fill(PASSWORD)
    screen.press("Sign in")


def came_back(screen: Screen, client: LocalClient) -> dict[str, str]:
    """Returns what the browser brought back to the client. Nothing else left the server."""
    screen.page.get_by_role("heading", name="You can go back to Example Chat.").wait_for()
    elsewhere = [url for url in screen.left_the_origin if not url.startswith(client.callback)]
    assert [url for url in elsewhere if not url.endswith("/favicon.ico")] == []
    screen.left_the_origin.clear()
    return client.brought[-1]


def test_from_a_client_without_a_key_to_its_end(
    open_browser: Open, client: LocalClient, alice: User, agent: Agent, secret: str
) -> None:
    screen = open_browser()
    page = screen.go(client.address())
    write_password(screen, alice)
    page.get_by_label("Code", exact=True).fill(code_of(secret))
    screen.press("Sign in")

    sentence = page.locator(".consent__question")
    assert sentence.inner_text() == (
        "Example Chat wants to deliver work to Garden as the agent example-chat-alice."
    )
    page.get_by_label("ID of the new agent").fill("chat")
    assert sentence.inner_text().endswith("as the agent chat.")
    assert screen.problems() == []
    page.get_by_label("Agent", exact=True).select_option(label=agent.agent_id)
    assert sentence.inner_text().endswith(f"as the agent {agent.agent_id}.")
    assert not page.get_by_label("ID of the new agent").is_visible()
    screen.press("Connect")

    back = came_back(screen, client)
    tokens = client.exchange(back["code"]).json()
    mcp = client.delivering(tokens["access_token"])
    mcp.structured("deliver", **UPDATE)
    screen.go("/")
    assert "Tanks are full" in page.inner_text("main")

    with ThreadPoolExecutor(1) as pool:
        params = {"name": "ask", "arguments": {**QUESTION, "wait_seconds": 50}}
        waiting = pool.submit(mcp.ask, "tools/call", params)
        eventually(Delivery.objects.filter(headline="Open the valve?").exists)
        screen.go("/")
        assert "Open the valve?" in page.inner_text("main")
        screen.go(f"/agents/{agent.pk}/")
        assert "Example Chat" in page.inner_text("#clients")
        screen.follow("End Example Chat")
        assert screen.problems() == []
        screen.press("End")
        answer = waiting.result(timeout=20)

    assert answer.status_code == 401
    assert "Example Chat was ended." in page.get_by_role("status").inner_text()
    assert "Ended" in page.inner_text("#clients")
    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_person_refuses(
    open_browser: Open, client: LocalClient, alice: User, agent: Agent, scripts: bool
) -> None:
    screen = open_browser(alice, scripts=scripts)
    screen.go(client.address())

    screen.press("Don't connect")

    assert came_back(screen, client)["error"] == "access_denied"
    assert not OAuthGrant.objects.exists()


def test_a_new_agent_is_connected_without_scripts(
    open_browser: Open, client: LocalClient, alice: User, team: Team
) -> None:
    screen = open_browser(alice, scripts=False)
    page = screen.go(client.address())
    page.get_by_label("ID of the new agent").fill("chat")

    screen.press("Connect")

    assert client.exchange(came_back(screen, client)["code"]).status_code == 200
    assert OAuthGrant.objects.get().key.agent.agent_id == "chat"


def test_a_team_that_requires_a_second_factor_asks_for_it_first(
    open_browser: Open, client: LocalClient, alice: User, agent: Agent, secret: str, bob: User
) -> None:
    teams.require_second_factor(agent.team, is_required=True, by=alice, address="")
    screen = open_browser()
    page = screen.go(client.address())

    write_password(screen, bob)

    assert "Garden requires two-step sign-in." in page.inner_text("main")
    screen.go(client.address())
    assert "Garden requires two-step sign-in." in page.inner_text("main")
    assert not OAuthGrant.objects.exists()


@pytest.mark.parametrize("name", ["ChatGPT", "w" * 80])
def test_a_client_that_goes_elsewhere_looks_different(
    open_browser: Open, live_server: Any, alice: User, agent: Agent, name: str
) -> None:
    host = f"{'w' * 63}.{'w' * 63}.example"
    with local_client(live_server.url, name=name) as client:
        client.callback = f"https://{host}/callback"
        assert client.register().status_code == 201
        screen = open_browser(alice)
        page = screen.go(client.address())

        assert screen.problems() == []
        assert host in page.inner_text(".consent__to strong")
        assert page.locator(".hint--warning").count() == (name == "ChatGPT")


def test_a_refusal_says_what_is_allowed(
    open_browser: Open, client: LocalClient, bob: User, agent: Agent
) -> None:
    screen = open_browser(bob)
    page = screen.go(client.address())

    assert "Only owners may connect clients to Garden." in page.inner_text("main")
    assert screen.problems() == []
    screen.press("Go back")
    assert came_back(screen, client)["error"] == "access_denied"
