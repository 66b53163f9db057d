"""The connect page notices the first delivery, and its buttons copy the texts that it shows."""

from __future__ import annotations

from playwright.sync_api import expect

from accounts.audit import SYSTEM
from accounts.models import Agent, User
from relay.cards.publishing import publish
from tests.browser.screen import Open
from tests.types import MakeDelivery


def test_the_first_delivery_replaces_the_waiting_line(
    open_browser: Open, alice: User, agent: Agent, make_delivery: MakeDelivery
) -> None:
    screen = open_browser(alice)
    screen.page.clock.install()
    page = screen.go(f"/agents/{agent.pk}/connect/")
    expect(page.get_by_text("Waiting for the first delivery…")).to_be_visible()

    delivery = make_delivery()
    with page.expect_request_finished(lambda request: request.url.endswith("/connect/pulse")):
        page.clock.run_for(3_500)

    expect(page.get_by_role("status")).to_contain_text("delivery arrived")
    expect(page.get_by_text("Waiting for the first delivery…")).to_be_hidden()
    screen.follow("Open it")
    assert page.url.endswith(f"/deliveries/{delivery.pk}/")


def test_a_program_is_unfolded_and_copied_with_the_keyboard(
    open_browser: Open, alice: User, agent: Agent
) -> None:
    screen = open_browser(alice, permissions=["clipboard-read", "clipboard-write"])
    page = screen.go(f"/agents/{agent.pk}/connect/")

    page.locator("#snippet-node summary").press("Enter")
    page.locator("#snippet-node").get_by_role("button", name="Copy").press("Enter")

    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert 'const AGENT_ID = "research-agent-01";' in copied
    assert copied == page.locator("#code-node").text_content()


def test_a_link_to_a_client_unfolds_its_code(open_browser: Open, alice: User, agent: Agent) -> None:
    page = open_browser(alice, width=390).go(f"/agents/{agent.pk}/connect/")
    code = page.get_by_role("region", name="Code for CrewAI")
    expect(code).to_be_hidden()

    page.get_by_role("link", name="CrewAI").click()

    expect(code).to_be_in_viewport()
    expect(page.get_by_role("heading", name="CrewAI")).to_be_in_viewport()


def test_unfolded_it_is_accessible_and_inside_its_window(
    open_browser: Open, alice: User, agent: Agent
) -> None:
    publish(agent, by=SYSTEM, at=agent.created_at)
    screen = open_browser(alice)
    page = screen.go(f"/agents/{agent.pk}/connect/")

    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")

    assert screen.problems() == []


def test_without_javascript_there_is_no_copy_button_and_a_link_reloads(
    open_browser: Open, alice: User, agent: Agent, make_delivery: MakeDelivery
) -> None:
    screen = open_browser(alice, scripts=False, width=390)
    page = screen.go(f"/agents/{agent.pk}/connect/")
    make_delivery()

    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    screen.follow("Check again")

    expect(page.get_by_text("delivery arrived")).to_be_visible()
