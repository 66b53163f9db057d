"""In a real browser, a person finds, archives and restores agents, and settings show only what
counts."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from accounts.access import invitations
from accounts.audit import SYSTEM, record
from accounts.models import Agent, Team, User
from inbox.statistics.answer_charts import KINDS
from tests.browser.screen import Open, Screen
from tests.fixtures.people import PASSWORD
from tests.types import Answer, MakeDelivery


@pytest.mark.parametrize("scripts", [True, False])
def test_an_agent_is_found_archived_and_restored(
    open_browser: Open, alice: User, agent: Agent, scripts: bool
) -> None:
    Agent.objects.create(team=agent.team, agent_id="ledger-clerk")
    screen = open_browser(alice, scripts=scripts, width=390)
    page = screen.go("/agents/")
    rows = page.get_by_role("row")
    expect(rows).to_have_count(3)

    page.get_by_role("searchbox", name="Search agents").fill("ledger")
    screen.press("Search agents")
    expect(rows).to_have_count(2)
    screen.follow("ledger-clerk")
    screen.press("Archive agent")

    expect(page.get_by_role("status")).to_contain_text("ledger-clerk is archived.")
    expect(page.get_by_role("link", name="ledger-clerk", exact=True)).to_have_count(0)
    screen.follow("Archived agents")
    screen.press("Restore ledger-clerk")
    expect(page.get_by_role("status")).to_contain_text("ledger-clerk is back on the list.")


def test_what_needs_attention_leads_to_its_section(
    open_browser: Open, alice: User, agent: Agent
) -> None:
    page = open_browser(alice).go(f"/agents/{agent.pk}/")

    page.get_by_role(
        "link", name="No active API key or connected client, so it can't deliver."
    ).click()

    assert page.url.endswith("#keys")
    expect(page.get_by_role("heading", name="API keys")).to_be_in_viewport()


def test_the_charts_have_a_name_and_are_accessible(
    open_browser: Open, alice: User, agent: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    for kind in KINDS:
        answer(make_delivery(), kind, feedback="See.")
    screen = open_browser(alice)

    page = screen.go(f"/agents/{agent.pk}/statistics/")

    expect(page.get_by_role("img", name="Answers by kind")).to_be_visible()
    assert page.locator(".column rect").count() == len(KINDS)
    assert screen.problems() == []


@pytest.mark.parametrize("scripts", [True, False])
def test_the_digest_shows_only_what_its_frequency_uses(
    open_browser: Open, alice: User, scripts: bool
) -> None:
    page = open_browser(alice, scripts=scripts).go("/settings/digest/")
    labels = ["Time", "Interval", "Monday"]

    def shown() -> list[str]:
        return [name for name in labels if page.get_by_label(name, exact=True).is_visible()]

    seen = {}
    for frequency in ("Never", "Every few hours", "Every day", "On some days of the week"):
        page.get_by_label(frequency).check()
        seen[frequency] = shown()

    assert seen == {
        "Never": [],
        "Every few hours": ["Time", "Interval"],
        "Every day": ["Time"],
        "On some days of the week": ["Time", "Monday"],
    }


def test_folded_events_open(open_browser: Open, alice: User, agent: Agent) -> None:
    for _ in range(6):
        record("agent.paused", by=SYSTEM, of=agent, team=agent.team)
    screen = open_browser(alice)
    page = screen.go("/audit/?event=agent.paused")

    page.get_by_text("6 agents paused").click()

    assert page.get_by_role("link", name="Wake paused an agent").count() == 6
    expect(page.get_by_role("link", name="Wake paused an agent").first).to_be_visible()
    assert screen.problems() == []


@pytest.mark.parametrize(("scripts", "zone"), [(True, "Europe/Berlin"), (False, "UTC")])
def test_signing_in_takes_the_time_zone_of_the_browser(
    open_browser: Open, alice: User, scripts: bool, zone: str
) -> None:
    screen = open_browser(scripts=scripts, timezone_id="Europe/Berlin")

    _sign_in(screen, alice, "wrong")
    focus = "document.activeElement.type"
    assert not scripts or screen.page.evaluate(focus) == "password"
    screen.page.get_by_label("Password", exact=True).fill(PASSWORD)
    screen.press("Sign in")

    alice.refresh_from_db()
    assert alice.time_zone == zone


def test_joining_takes_the_time_zone_of_the_browser(
    open_browser: Open, alice: User, team: Team
) -> None:
    _, link = invitations.invite(
        team, role="reviewer", by=alice, at=timezone.now(), email="nora@example.com"
    )
    screen = open_browser(timezone_id="Europe/Berlin")
    page = screen.go(f"/join/{link}/")
    page.get_by_label("Name", exact=True).fill("Nora")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Confirm password").fill(PASSWORD)

    screen.press("Join")

    expect(page.get_by_role("button", name="Menu of")).to_be_visible()
    assert User.objects.get(email="nora@example.com").time_zone == "Europe/Berlin"


def _sign_in(screen: Screen, user: User, password: str) -> None:
    page = screen.go("/login/")
    page.get_by_label("E-mail").fill(user.email)
    page.get_by_label("Password", exact=True).fill(password)
    screen.press("Sign in")
    if screen.scripts:
        page.wait_for_selector("html[data-ready]", state="attached")
