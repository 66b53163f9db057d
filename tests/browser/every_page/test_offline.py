"""Without a connection, an installed Wake tells the person what to expect."""

from __future__ import annotations

from playwright.sync_api import expect

from accounts.models import User
from tests.browser.screen import Open


def test_a_page_of_ours_is_shown_without_a_connection(open_browser: Open, alice: User) -> None:
    screen = open_browser(alice)
    page = screen.go("/settings/theme/")
    page.evaluate("async () => { await navigator.serviceWorker.ready; }")
    page.reload()

    screen.context.set_offline(True)
    page.goto("/")

    expect(page.locator("h1")).to_have_text("You're offline")
    assert screen.problems() == []
    kept = page.evaluate("""async () => {
      const [name] = await caches.keys();
      const requests = await (await caches.open(name)).keys();
      return requests.map((request) => new URL(request.url).pathname);
    }""")
    assert [path for path in kept if not path.startswith("/static/")] == ["/offline/"]

    screen.context.set_offline(False)
    screen.complaints.clear()  # Chromium logs the requests that failed
    screen.follow("Try again")
    expect(page.locator("h1")).to_contain_text("will appear here")
