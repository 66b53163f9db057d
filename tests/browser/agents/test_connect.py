"""The connect page notices the first request and the first delivery. Its tabs are links, and its
buttons copy the texts that it shows."""

from __future__ import annotations

import pytest
from django.conf import settings
from playwright.sync_api import expect

from accounts.audit import SYSTEM
from accounts.models import Agent, User
from inbox.agents.connect.snippets import KINDS
from relay.cards.publishing import publish
from tests.browser.screen import Open
from tests.fixtures.agent_client import AgentClient


def test_requests_and_the_first_delivery_replace_the_waiting_line(
    open_browser: Open, alice: User, agent: Agent, caller: AgentClient
) -> None:
    screen = open_browser(alice)
    screen.page.clock.install()
    page = screen.go(f"/agents/{agent.pk}/connect/")
    expect(page.get_by_text("Waiting for the first request…")).to_be_visible()

    def next_poll() -> None:
        with page.expect_request_finished(lambda request: request.url.endswith("/connect/pulse")):
            page.clock.run_for(3_500)

    caller.sweep()
    next_poll()
    expect(page.get_by_role("status")).to_contain_text("Connected. A request arrived")
    expect(page.get_by_text("Waiting for the first request…")).to_be_hidden()
    expect(page.get_by_text("Waiting for the first delivery…")).to_be_visible()

    page.evaluate("window.line = document.querySelector('[role=status] strong')")
    next_poll()
    assert page.evaluate("window.line.isConnected")  # the same text is not shown again

    delivery = caller.deliver()
    next_poll()
    expect(page.get_by_role("status")).to_contain_text("delivery arrived")
    screen.follow("Open it")
    assert page.url.endswith(f"/deliveries/{delivery}/")


def test_a_client_is_chosen_and_copied_with_the_keyboard(
    open_browser: Open, alice: User, agent: Agent
) -> None:
    screen = open_browser(alice, permissions=["clipboard-read", "clipboard-write"])
    page = screen.go(f"/agents/{agent.pk}/connect/")

    page.get_by_role("link", name="Your own program").press("Enter")
    page.get_by_role("link", name="Node, no packages").press("Enter")
    page.locator("#snippet-node").get_by_role("button", name="Copy").press("Enter")

    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert 'const AGENT_ID = "research-agent-01";' in copied
    assert copied == page.locator("#code-node").text_content()


def test_the_address_to_sign_in_at_is_copied_and_no_key_is_asked_for(
    open_browser: Open, alice: User, agent: Agent
) -> None:
    screen = open_browser(alice, permissions=["clipboard-read", "clipboard-write"])
    page = screen.go(f"/agents/{agent.pk}/connect/")
    expect(page.get_by_role("heading", name="Create an API key")).to_be_visible()

    page.get_by_role("link", name="Chat apps").click()
    page.get_by_role("link", name="ChatGPT").click()
    page.locator("#snippet-mcp-chatgpt").get_by_role("button", name="Copy").click()

    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    expect(page.get_by_role("heading", name="You need no API key")).to_be_visible()
    expect(page.get_by_role("link", name="Create API key")).to_have_count(0)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{settings.WAKE_ORIGIN}/mcp/people"


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_a_tab_shows_its_client_and_keeps_it_in_view(
    open_browser: Open, alice: User, agent: Agent, scripts: bool
) -> None:
    screen = open_browser(alice, width=390, scripts=scripts)
    page = screen.go(f"/agents/{agent.pk}/connect/")
    code = page.get_by_role("region", name="Code for CrewAI")
    expect(code).to_have_count(0)

    page.get_by_role("link", name="Python frameworks").click()
    page.get_by_role("link", name="CrewAI").click()

    expect(code).to_be_visible()
    expect(page.get_by_role("heading", name="Choose your client")).to_be_in_viewport()
    expect(page.locator("main [aria-current=page]")).to_have_text("CrewAI")


@pytest.mark.system
@pytest.mark.parametrize("width", [1280, 390])
def test_each_client_is_accessible_and_inside_its_window(
    open_browser: Open, alice: User, agent: Agent, width: int
) -> None:
    publish(agent, by=SYSTEM, at=agent.created_at)
    screen = open_browser(alice, width=width)

    for kind in KINDS:
        screen.go(f"/agents/{agent.pk}/connect/?with={kind.name}")
        assert screen.problems() == [], kind.name


def test_without_javascript_there_is_no_copy_button_and_a_link_reloads(
    open_browser: Open, alice: User, agent: Agent, caller: AgentClient
) -> None:
    screen = open_browser(alice, scripts=False, width=390)
    page = screen.go(f"/agents/{agent.pk}/connect/?with=curl#client")
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)

    caller.sweep()
    screen.follow("Check again")
    expect(page.get_by_text("Connected. A request arrived")).to_be_visible()
    caller.deliver()
    screen.follow("Check again")

    expect(page.get_by_text("delivery arrived")).to_be_visible()
    expect(page.get_by_role("region", name="Code for curl")).to_be_visible()
