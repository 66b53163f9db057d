"""With the server that streams, open pages show at once what agents and colleagues do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from accounts.access import members
from accounts.audit import person
from accounts.models import Membership, User
from tests.browser.screen import Screen
from tests.fixtures.served import Server
from tests.types import MakeDelivery

pytestmark = [pytest.mark.system, pytest.mark.django_db(transaction=True)]

AT_ONCE_MS = 10_000  # generous for a busy machine; a page without a stream asks only after 30 s
Open = Callable[[User], Screen]


@pytest.fixture
def server(transactional_db: None, collected: Path) -> Iterator[Server]:
    server = Server("asgi", WAKE_TEST_STATIC=str(collected))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def open_page(chromium: Browser, server: Server) -> Iterator[Open]:
    """Opens a window on the server that streams. An error in a window fails the test."""
    screens: list[Screen] = []

    def open_one(user: User) -> Screen:
        screens.append(Screen(chromium, server.origin, user))
        return screens[-1]

    yield open_one
    for screen in screens:
        screen.close()
    assert [complaint for screen in screens for complaint in screen.complaints] == []


def go_live(screen: Screen, path: str) -> Page:
    """Opens a page and waits for its stream."""
    with screen.page.expect_response(lambda response: "/live?" in response.url) as stream:
        screen.go(path)
    assert stream.value.status == 200
    return screen.page


def test_two_people_see_at_once_what_the_other_does(
    open_page: Open, alice: User, bob: User, make_delivery: MakeDelivery
) -> None:
    first, second = make_delivery(headline="The first"), make_delivery(headline="The second")
    alices, bobs = open_page(alice), open_page(bob)
    inbox = go_live(alices, "/")
    places = inbox.locator(".row").evaluate_all("rows => rows.map(row => row.offsetTop)")

    # An agent delivers.
    make_delivery(headline="The third")
    expect(inbox.locator(".pill")).to_have_text("Show 1 new delivery", timeout=AT_ONCE_MS)

    # A colleague answers a delivery that the list shows.
    bobs.go(f"/deliveries/{first.pk}/")
    bobs.press("Approve")
    row = inbox.locator(f"#row-{first.pk}")
    expect(row).to_contain_text("Answered by bob", timeout=AT_ONCE_MS)
    expect(row.get_by_role("button")).to_have_count(0)
    now = inbox.locator(".row").evaluate_all("rows => rows.map(row => row.offsetTop)")
    assert now == places

    # A delivery is answered while a colleague has its page open.
    delivery = go_live(bobs, f"/deliveries/{second.pk}/")
    delivery.get_by_placeholder("Message to the agent").fill("My words")
    with inbox.expect_navigation():
        inbox.locator(f"#row-{second.pk}").get_by_role("button", name="Approve").click()
    expect(delivery.get_by_role("status")).to_contain_text(
        "Answered by alice a moment ago. Your message stays here.", timeout=AT_ONCE_MS
    )
    expect(delivery.get_by_placeholder("Message to the agent")).to_have_value("My words")
    assert bobs.problems() == []

    # An answer that was taken back opens its delivery again.
    with inbox.expect_navigation():
        inbox.locator(".dock").get_by_role("button", name="Undo").first.click()
    expect(delivery.locator(".updates")).to_be_empty(timeout=AT_ONCE_MS)


def test_who_was_removed_is_told_nothing_more(
    open_page: Open, alice: User, bob: User, make_delivery: MakeDelivery
) -> None:
    make_delivery()
    page = go_live(open_page(bob), "/")
    with page.expect_request_finished(lambda request: "/live?" in request.url):
        members.remove(Membership.objects.get(user=bob), by=person(alice))
        make_delivery(headline="Not for Bob")

    expect(page.locator(".pill")).to_have_count(0)


def test_a_page_comes_back_to_a_server_that_was_killed(
    open_page: Open, server: Server, alice: User, make_delivery: MakeDelivery
) -> None:
    make_delivery()
    screen = open_page(alice)
    screen.page.clock.install()
    with screen.page.expect_response(lambda response: "/live?" in response.url):
        screen.go("/")
        screen.page.clock.run_for(3_000)
    server.kill()
    server.start()
    make_delivery()

    # The browser reconnects to the stream by itself, and gets the events that it missed.
    expect(screen.page.locator(".pill")).to_have_text("Show 1 new delivery", timeout=60_000)
    screen.complaints[:] = [each for each in screen.complaints if "net::ERR_" not in each]


def test_a_hidden_page_has_no_stream(open_page: Open, alice: User) -> None:
    page = go_live(open_page(alice), "/")

    def hide(page: Page, *, hidden: bool) -> Any:
        return page.evaluate(
            "hidden => {"
            " Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
            " document.dispatchEvent(new Event('visibilitychange')); }",
            hidden,
        )

    with page.expect_event("requestfailed", lambda request: "/live?" in request.url):
        hide(page, hidden=True)
    with page.expect_request(lambda request: "/live?" in request.url):
        hide(page, hidden=False)
