"""Presses the buttons of a page in Chromium, each on the same state of the database."""

from __future__ import annotations

import re
import sqlite3
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.core.cache import cache
from django.db import connection
from playwright.sync_api import Error, Response, expect

from tests.browser.screen import Screen

BUTTONS = (Path(__file__).parent / "buttons.js").read_text()
WAITING = "[data-module~=first-moment] button[name=status]:disabled"
REFUSED = {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}
ASKED_FOR = {"document", "fetch", "xhr"}
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+")


class Snapshot:
    """Holds a copy of the test's SQLite database."""

    def __init__(self) -> None:
        self._copy = sqlite3.connect(":memory:")
        self._ours().backup(self._copy)

    def restore(self) -> None:
        self._copy.backup(self._ours())
        cache.clear()

    def _ours(self) -> Any:
        connection.ensure_connection()
        return connection.connection


class Hand:
    """Controls one window. `path` is the path of the page with the button."""

    def __init__(self, screen: Screen) -> None:
        self.screen, self.snapshot = screen, Snapshot()
        self.cookies: Any = screen.context.cookies()
        self.answers: list[Response] = []
        screen.page.on("response", lambda answer: self.answers.append(answer))

    def buttons_of(self, path: str) -> list[dict[str, Any]]:
        """Returns the buttons, but only one of several buttons that do the same to different
        things."""
        self.open(path)
        return list(self._buttons_by_kind(path).values())

    def press(self, path: str, button: dict[str, Any]) -> list[str]:
        """Presses the button and returns what went wrong. Looks for the button again first, because
        a page can have more or fewer buttons than a moment ago."""
        self.open(path)
        self.answers.clear()
        page = self.screen.page
        found = self._buttons_by_kind(path).get(kind(button))
        if found is None:
            return ["The button has left the page."]
        button = found
        if button["byScript"]:
            with page.expect_response(lambda answer: answer.request.method == "POST"):
                page.evaluate(BUTTONS, button["index"])
        elif button["submits"]:
            try:
                with page.expect_navigation():
                    page.evaluate(BUTTONS, button["index"])
            except Error:
                if not any(map(is_download, self.answers)):
                    raise
        else:
            page.evaluate(BUTTONS, button["index"])
        page.evaluate("1")  # by now everything that the page reported is here
        problems = [f"{answer.status} {answer.url}" for answer in self.answers if is_bad(answer)]
        problems += self.screen.complaints
        self.screen.complaints.clear()
        return problems

    def _buttons_by_kind(self, path: str) -> dict[tuple[str, str, str], dict[str, Any]]:
        found: dict[tuple[str, str, str], dict[str, Any]] = {}
        for button in self.screen.page.evaluate(BUTTONS, None):
            if button["works"] and (button["isOfThePage"] or path == "/"):
                found.setdefault(kind(button), button)
        return found

    def open(self, path: str) -> None:
        self.snapshot.restore()
        self.screen.context.clear_cookies()
        self.screen.context.add_cookies(self.cookies)
        self.screen.go(path)
        # A page takes no answer in its first moment (static/js/app.js).
        expect(self.screen.page.locator(WAITING)).to_have_count(0)


def kind(button: dict[str, Any]) -> tuple[str, str, str]:
    """Returns what is the same for buttons that do the same to different things."""
    return words(button), ID.sub("", button["path"]), ID.sub("", button["value"])


def words(button: dict[str, Any]) -> str:
    """Returns the name of a button without the name of the object that the button acts on."""
    return ID.sub("#", " ".join(str(button["name"]).partition(":")[0].split()))


def is_bad(answer: Response) -> bool:
    is_error = answer.status in REFUSED or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return is_error and answer.request.resource_type in ASKED_FOR


def is_download(answer: Response) -> bool:
    """Says whether the window stays on its page because the answer is a file."""
    return answer.headers.get("content-disposition", "").startswith("attachment")
