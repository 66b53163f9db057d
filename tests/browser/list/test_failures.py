"""A person sees what came of approvals, and clicks "Got it" for a failure, with and without
scripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from accounts.models import User
from tests.browser.screen import Open
from tests.browser.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_failure_is_acknowledged_and_brought_back(
    open_browser: Open, alice: User, world: World, scripts: bool
) -> None:
    screen = open_browser(alice, scripts=scripts, width=390)
    page = screen.go("/")
    failures = page.get_by_role("region", name="Failed after approval")
    expect(failures).to_contain_text("Failed after you approved")
    expect(failures).to_contain_text("The bank refused the card.")

    screen.press("Got it: Refund EUR 180 to Grace")
    expect(page.get_by_text("Acknowledged: Refund EUR 180 to Grace.")).to_be_visible()

    screen.press("Undo: Refund EUR 180 to Grace")
    expect(page.get_by_role("button", name="Got it: Refund EUR 180 to Grace")).to_be_visible()


def test_the_pages_about_the_use_of_approvals_are_accessible(
    open_browser: Open, alice: User, world: World, subtests: pytest.Subtests
) -> None:
    screen = open_browser(alice)
    paths = ["/history/?q=is:used", f"/agents/{world.agent.pk}/statistics/?days=7", "/?q=is:failed"]

    for path in paths:
        with subtests.test(path):
            page = screen.go(path)
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            assert screen.problems() == []

    with subtests.test("after the acknowledgement"):
        screen.press("Got it: Refund EUR 180 to Grace")
        assert screen.problems() == []
