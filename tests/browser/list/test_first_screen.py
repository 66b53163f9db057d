"""The inbox shows enough at once, keeps Undo in sight, and moves no button under the pointer."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from accounts.models import User
from inbox.models import Preferences
from tests.browser.screen import Open
from tests.inbox.person import Person
from tests.types import MakeDelivery
from wake.models import Delivery, Response

IN_SIGHT = """() => [...document.querySelectorAll(".row")]
  .filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length"""
NAME_AT = """([x, y]) => document.elementFromPoint(x, y)?.getAttribute("aria-label") ?? "" """
FIVE_OF_EACH = ("question", "alert", "output", "update") * 5


@pytest.fixture
def deliveries(make_delivery: MakeDelivery) -> list[Delivery]:
    return [
        make_delivery(
            type=type,
            headline=f"Report {number} is ready for review",
            summary="Compared the ten closest competitors by price and reach.",
        )
        for number, type in enumerate(FIVE_OF_EACH)
    ]


@pytest.mark.parametrize(
    ("width", "height", "density", "at_least"),
    [(1280, 900, "comfortable", 9), (390, 800, "comfortable", 3), (1280, 900, "compact", 12)],
)
def test_the_first_screen_shows_enough(
    open_browser: Open,
    alice: User,
    deliveries: list[Delivery],
    width: int,
    height: int,
    density: str,
    at_least: int,
) -> None:
    Preferences.objects.create(user=alice, density=density)
    page = open_browser(alice).go("/")

    page.set_viewport_size({"width": width, "height": height})

    assert page.evaluate(IN_SIGHT) >= at_least


@pytest.mark.parametrize("width", [1280, 390])
def test_undo_is_in_sight_and_no_other_button_is_under_the_pointer(
    open_browser: Open, alice: User, deliveries: list[Delivery], width: int
) -> None:
    screen = open_browser(alice, width=width)
    page = screen.go("/")
    approve = page.get_by_role("button", name="Approve: Report 10 is ready for review")
    approve.scroll_into_view_if_needed()
    box = approve.bounding_box()
    assert box

    with page.expect_navigation():
        approve.click()
    page.wait_for_selector("html[data-ready]", state="attached")

    expect(page.locator(".dock").get_by_role("button", name="Undo")).to_be_in_viewport()
    under_pointer = page.evaluate(NAME_AT, [box["x"] + 20, box["y"] + 20])
    assert not under_pointer.startswith("Approve")
    expect(page.locator(".row--done")).to_have_count(1)
    expect(page.locator(".row:focus")).to_contain_text("Report 6")
    assert screen.problems() == []


def test_search_and_menu_open_on_demand(
    open_browser: Open, alice: User, deliveries: list[Delivery]
) -> None:
    screen = open_browser(alice)
    page = screen.go("/")
    expect(page.get_by_role("searchbox")).not_to_be_visible()

    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("searchbox")).to_be_focused()
    assert screen.problems() == []
    page.get_by_role("searchbox").fill("nothing like it")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("No results for nothing like it")
    assert screen.problems() == []

    page.get_by_role("button", name="Menu of").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    assert screen.problems() == []


def test_without_scripts_search_menu_and_undo_work(
    open_browser: Open, alice: User, deliveries: list[Delivery]
) -> None:
    screen = open_browser(alice, scripts=False, width=390)
    page = screen.go("/")

    screen.press("Approve: Report 10 is ready for review")
    expect(page.locator(".row--done")).to_have_count(1)
    with page.expect_navigation():
        page.locator(".dock").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: Report 10")).to_be_in_viewport()
    assert not Response.objects.exists()

    page.get_by_role("button", name="Search").click()
    page.get_by_role("searchbox").fill("type:alert")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator(".row")).to_have_count(5)
    page.get_by_role("button", name="Menu of").click()
    screen.follow("History")
    expect(page.locator("h1")).to_have_text("History")


def test_a_row_that_a_colleague_answers_meanwhile_is_struck_in_its_place(
    open_browser: Open, alice: User, bob: User, deliveries: list[Delivery]
) -> None:
    screen = open_browser(alice)
    screen.page.clock.install()
    page = screen.go("/")
    answered = page.locator(f"#row-{deliveries[2].pk}")
    top = answered.bounding_box()
    Person(bob).answer(deliveries[2])

    with page.expect_request_finished(lambda request: "/pulse?" in request.url):
        page.clock.run_for(31_000)

    expect(answered).to_contain_text("Answered by bob")
    expect(answered.get_by_role("button")).to_have_count(0)
    expect(page.locator(".row")).to_have_count(20)
    assert answered.bounding_box() == top


def test_the_notice_says_when_the_answer_is_sent(
    open_browser: Open, alice: User, deliveries: list[Delivery]
) -> None:
    screen = open_browser(alice)
    screen.page.clock.install()
    screen.go("/")
    page = screen.press("Approve: Report 10 is ready for review")
    expect(page.locator(".dock")).to_contain_text("Goes to the agent in")
    page.wait_for_selector("html[data-ready]", state="attached")

    page.clock.run_for(11_000)

    expect(page.locator(".dock")).to_contain_text("Sent. You can undo until the agent fetches it.")


def test_a_deadline_leaves_its_row_all_other_room(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    """A line that wraps asks for the width of all its parts, so the texts beside the line used to
    be cut off."""
    make_delivery(summary="Compared the ten closest competitors. " * 5, timeout_seconds=1500)
    page = open_browser(alice).go("/")

    gap: float = page.evaluate("""() => {
      const edges = [...document.querySelectorAll(".row .meta > *, .row__summary")].map((part) => {
        const range = document.createRange();
        range.selectNodeContents(part);
        return range.getBoundingClientRect();
      });
      return Math.min(...edges.slice(1).map((edge) => edge.left)) - edges[0].right;
    }""")

    assert 0 < gap < 60


def test_the_time_that_is_left_stays_true_in_the_list(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    make_delivery(type="question", timeout_seconds=1500)
    screen = open_browser(alice)
    screen.page.clock.install()
    page = screen.go("/")
    expect(page.locator(".row .deadline")).to_contain_text("(in 25 min)")

    page.clock.run_for(10 * 60 * 1000)

    expect(page.locator(".row .deadline")).to_contain_text("(in 15 min)")


def test_the_way_back_from_a_delivery_leads_to_its_row(
    open_browser: Open, alice: User, deliveries: list[Delivery]
) -> None:
    page = open_browser(alice).go("/")
    row = page.locator(f"#row-{deliveries[2].pk}")

    with page.expect_navigation():
        row.get_by_role("link").first.click()
    with page.expect_navigation():
        page.get_by_role("navigation", name="In the inbox").get_by_role(
            "link", name="Inbox"
        ).click()

    expect(row).to_be_focused()
    expect(row).to_be_in_viewport()
