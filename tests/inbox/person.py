"""Imitates a person with a browser and reads the text of a page."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest

from accounts.models import User
from accounts.sign_in.browsers.session_store import SessionStore
from tests.fixtures.strict_client import Client
from wake.models import Delivery


class Person:
    """Acts as a signed-in person who answers with the forms of the pages."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.client = Client()
        self._sign_in()

    def _sign_in(self) -> None:
        """Signs in with half the queries of Client.force_login(), which first stores an empty
        session and then replaces it."""
        request = HttpRequest()
        request.session = SessionStore()
        login(request, self.user, settings.AUTHENTICATION_BACKENDS[0])
        request.session.save()
        self.client.cookies[settings.SESSION_COOKIE_NAME] = request.session.session_key or ""

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(path, query)

    def see(self, delivery: Delivery, **query: Any) -> Any:
        return self.get(f"/deliveries/{delivery.pk}/", **query)

    def post(self, delivery: Delivery, action: str, **fields: Any) -> Any:
        by_hand = fields.pop("by_hand", False)
        return self.client.post(f"/deliveries/{delivery.pk}/{action}", fields, by_hand=by_hand)

    def answer(self, delivery: Delivery, status: str = "approved", **fields: Any) -> Any:
        given = {"status": status, "content_hash": delivery.content_hash, **fields}
        return self.post(delivery, "response", **given)

    def undo(self, delivery: Delivery, **fields: Any) -> Any:
        return self.post(delivery, "undo", **fields)


BLOCKS = {"td", "th", "li", "p", "div", "dt", "dd", "h1", "h2", "h3", "button", "option", "a"}


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in BLOCKS:
            self.words.append(" ")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def text_of(answer: Any) -> str:
    """Returns the visible text of a page, with one blank between words."""
    parser = _Text()
    parser.feed(answer.content.decode())
    return " ".join("".join(parser.words).split())
