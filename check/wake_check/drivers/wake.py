"""Answers in an inbox of Wake, with the forms of its pages, as a person with a browser would.

The person signs in with WAKE_CHECK_EMAIL and WAKE_CHECK_PASSWORD, at WAKE_CHECK_URL. The person
needs an account without a second step.
"""

from __future__ import annotations

import json
import os
import sys
from html.parser import HTMLParser
from typing import Any

import httpx

from wake_check.drivers.wishes import CannotAnswer, serve

SIGN_IN = "/login/"


class Inbox:
    def __init__(self, origin: str, email: str, password: str) -> None:
        self._http = httpx.Client(
            base_url=origin, headers={"Referer": f"{origin}/"}, timeout=30, trust_env=False
        )
        self._email, self._password = email, password
        self._is_signed_in = False

    def close(self) -> None:
        self._http.close()

    def answer(self, wish: dict[str, Any]) -> None:
        """Answers the delivery on its page. Raises CannotAnswer if the page does not let it."""
        if not self._is_signed_in:
            self._sign_in()
        page = f"/deliveries/{wish['delivery_id']}/"
        action = f"{page}response"
        form = self._form(page, action)
        fields = {
            **form,
            "status": wish["status"],
            "feedback": wish.get("feedback") or "",
        }
        edit = wish.get("edited_content")
        if edit is not None:
            fields["edited_as"] = "text" if isinstance(edit, str) else "json"
            fields["edited_content"] = edit if isinstance(edit, str) else json.dumps(edit)
        answer = self._send("POST", action, fields)
        if not answer.is_redirect:
            raise CannotAnswer(f"The inbox does not take the answer ({answer.status_code}).")

    def look(self, wish: dict[str, Any]) -> bool:
        """Returns whether the page of the delivery shows the markup as text."""
        if not self._is_signed_in:
            self._sign_in()
        page = self._send("GET", f"/deliveries/{wish['delivery_id']}/")
        if page.status_code != httpx.codes.OK:
            raise CannotAnswer(f"The page of the delivery answers with {page.status_code}.")
        reader = _Texts()
        reader.feed(page.text)
        tag = wish["markup"].partition(">")[0]
        return tag not in page.text and wish["markup"] in "".join(reader.texts)

    def _sign_in(self) -> None:
        form = self._form(SIGN_IN, SIGN_IN)
        answer = self._send(
            "POST", SIGN_IN, {**form, "username": self._email, "password": self._password}
        )
        if not answer.is_redirect:
            raise CannotAnswer("The inbox does not take WAKE_CHECK_EMAIL and WAKE_CHECK_PASSWORD.")
        self._is_signed_in = True

    def _form(self, page: str, action: str) -> dict[str, str]:
        """Returns the hidden inputs of the form that posts to `action`."""
        answer = self._send("GET", page)
        if answer.status_code != httpx.codes.OK:
            raise CannotAnswer(f"{page} answers with {answer.status_code}.")
        reader = _Forms(page)
        reader.feed(answer.text)
        if action not in reader.forms:
            raise CannotAnswer(f"{page} has no form for an answer.")
        return reader.forms[action]

    def _send(self, method: str, path: str, fields: dict[str, str] | None = None) -> httpx.Response:
        try:
            return self._http.request(method, path, data=fields)
        except httpx.HTTPError as error:
            raise CannotAnswer(f"The inbox does not answer: {type(error).__name__}.") from None


class _Forms(HTMLParser):
    """Collects the hidden inputs of each form, by the path to which the form posts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self._page = page
        self._open: dict[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and given.get("method", "").lower() == "post":
            self._open = self.forms.setdefault(given.get("action") or self._page, {})
        elif tag == "input" and given.get("type") == "hidden" and self._open is not None:
            self._open[given.get("name", "")] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None


class _Texts(HTMLParser):
    """Collects the text of a page, as a reader sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def main() -> int:
    variables = os.environ
    origin = variables["WAKE_CHECK_URL"].rstrip("/").removesuffix("/wake/v1")
    inbox = Inbox(
        origin,
        variables.get("WAKE_CHECK_EMAIL", ""),
        variables.get("WAKE_CHECK_PASSWORD", ""),
    )
    return serve(inbox.answer, inbox.look)


if __name__ == "__main__":
    sys.exit(main())
