"""Controls one browser window and records each console error and each request to another host."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

from django.conf import settings
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

from accounts.models import User
from tests.fixtures.strict_client import Client

AXE = (Path(__file__).parent / "vendor/axe.min.js").read_text()
# Preloading is off, because axe fetches style sheets in a way that our policy refuses.
RUN_AXE = """async runOnly =>
  (await axe.run(document, {runOnly, resultTypes: ["violations"], preload: false})).violations"""
ALL_OF_IT = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
# A dark colour scheme can change the results of these rules only. All other rules give the same
# results in both schemes.
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
PATIENCE_MS = 30_000  # for a busy machine
WIDTHS = [1280, 390, 320]
IN_ALL_SIZES = [
    *(("light", width, ALL_OF_IT) for width in WIDTHS),
    *(("dark", width, COLOURS) for width in WIDTHS),
]
IN_TURN = [("light", 1280, ALL_OF_IT), ("dark", 320, ALL_OF_IT)]
LISTEN = """document.addEventListener("securitypolicyviolation", event =>
  window.noteComplaint(`policy: ${event.violatedDirective} ${event.blockedURI}`))"""
OUTSIDE = (Path(__file__).parent / "outside.js").read_text()


class Screen:
    def __init__(
        self,
        browser: Browser,
        origin: str,
        user: User | None = None,
        *,
        width: int = 1280,
        scheme: Any = "light",
        scripts: bool = True,
        **options: Any,
    ) -> None:
        self.origin, self.scripts = origin, scripts
        self.complaints: list[str] = []
        self._in_turn = cycle(IN_TURN)
        self.left_the_origin: list[str] = []
        self.context = browser.new_context(
            base_url=origin,
            viewport={"width": width, "height": 844},
            color_scheme=scheme,
            java_script_enabled=scripts,
            reduced_motion="reduce",
            **options,
        )
        if user is not None:
            self.sign_in(user)
        self.context.expose_function("noteComplaint", lambda text: self.complaints.append(text))
        self.context.add_init_script(LISTEN)
        self.context.on("request", self._record_request)
        self.context.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.page.on("console", self._record_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    def sign_in(self, user: User) -> None:
        """Signs in with a cookie; other tests use the form."""
        client = Client()
        client.force_login(user)
        name = settings.SESSION_COOKIE_NAME
        cookie = {"name": name, "value": client.cookies[name].value, "url": self.origin}
        self.context.add_cookies([cookie])  # type: ignore[list-item]

    def go(self, path: str) -> Page:
        """Opens a path and waits until the scripts of the page are attached."""
        self.page.goto(path)
        if self.scripts:
            self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page

    def press(self, name: str, *, exact: bool = True) -> Page:
        """Clicks a button, found by its accessible name, and waits for the next page."""
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=name, exact=exact).click()
        return self.page

    def more(self, name: str) -> Page:
        """Clicks a button in the menu of the answer bar, and waits for the next page."""
        self.page.get_by_text("More", exact=True).click()
        return self.press(name)

    def follow(self, name: str) -> Page:
        with self.page.expect_navigation():
            self.page.get_by_role("link", name=name, exact=True).click()
        return self.page

    def sign_out(self) -> Page:
        """Opens the menu and signs out."""
        self.page.get_by_role("button", name="Menu of").click()
        return self.press("Sign out")

    def problems(self, *, in_all_sizes: bool = True) -> list[str]:
        """Returns the page's problems on a desktop and on phones, in light and in dark, and with
        text of twice the size (WCAG 1.4.4). Without `in_all_sizes` axe looks at one page on a light
        desktop and at the next one on a dark phone."""
        self.page.evaluate(AXE)
        found = []
        for scheme, width, rules in IN_ALL_SIZES if in_all_sizes else [next(self._in_turn)]:
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            self.page.set_viewport_size({"width": width, "height": 844})
            found += [f"{width} {scheme}, {problem}" for problem in self.violations(rules)]
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 844})
            found += [f"{width}, outside: {text[:80]}" for text in self.outside()]
        self.page.set_viewport_size({"width": 390, "height": 844})
        self.page.evaluate("document.documentElement.style.fontSize = '200%'")
        found += [f"large text, outside: {text[:80]}" for text in self.outside()]
        self.page.evaluate("document.documentElement.style.fontSize = ''")
        return found

    def violations(self, rules: dict[str, Any]) -> list[str]:
        """Runs axe through the debugger, so that the page's policy does not change."""
        found: Any = self.page.evaluate(RUN_AXE, rules)
        return [
            f"{violation['id']}: {node['html'][:200]}"
            for violation in found
            for node in violation["nodes"]
        ]

    def outside(self) -> list[str]:
        found: list[str] = self.page.evaluate(OUTSIDE)
        return found

    def close(self) -> None:
        self.context.close()

    def _record_console(self, message: ConsoleMessage) -> None:
        """Chromium also logs an error when the requested page itself answers 4xx."""
        expected = message.text.startswith("Failed to load resource: the server responded with a")
        if message.type in {"error", "warning"} and not expected:
            self.complaints.append(f"console: {message.text}")

    def _record_request(self, request: Request) -> None:
        if not request.url.startswith(self.origin):
            self.left_the_origin.append(request.url)


def wait_for_answers(page: Page) -> None:
    """Waits until a page that has just opened takes an answer."""
    page.wait_for_selector(".answer-bar button[name=status]:disabled", state="detached")


Open = Callable[..., Screen]
