"""Lists every page from the URLconf, so that the tests open a new page without a change."""

from __future__ import annotations

import uuid
from http import HTTPStatus
from typing import Any

import pytest
from django.urls import NoReverseMatch, URLPattern, reverse
from django.urls.converters import IntConverter, SlugConverter, StringConverter, UUIDConverter

from accounts.models import User
from tests.browser.world import World, as_fields
from tests.fixtures.patterns import page_patterns
from tests.fixtures.strict_client import Client

ANY = {
    UUIDConverter: uuid.uuid4(),
    IntConverter: 1,
    SlugConverter: "any",
    StringConverter: "any",
}
# Some of these pages need an earlier action in the same session, which test_accessibility does
# first. The others need the link in a mail, which tests/browser/people/test_sign_in.py opens.
AFTER_AN_ACT = {"batch-result", "reset-password"}
# Clients send people to these pages with a request (tests/browser/clients).
SENT_BY_CLIENTS = {"authorize"}
# Scripts request the first two addresses, which return only parts of a page. Programs request the
# others, which return the public log, the metadata and the endpoints of OAuth, and SCIM.
NOT_FOR_PEOPLE = {
    *("connect-updates", "delivery-updates", "log-checkpoint", "log-tile"),
    *("authorization-server", "protected-resource", "token", "revoke-token", "dcr-register"),
    "dcr-register-management",
    "device-codes",
    *("scim", "scim-resource"),
}
NO_PAGE = {HTTPStatus.FOUND, HTTPStatus.SEE_OTHER, HTTPStatus.NO_CONTENT}


def pages(world: World, user: User) -> dict[str, str]:
    """Returns each path by its name, including a page that does not exist."""
    client = Client()
    client.force_login(user)
    addresses = {}
    for pattern in page_patterns():
        if pattern.name in NOT_FOR_PEOPLE | SENT_BY_CLIENTS:
            continue
        path = _path(pattern, as_fields(world), client)
        if path and _is_page(client.get(path)):
            addresses[str(pattern.name)] = path
    return {**addresses, "nothing here": "/nothing/"}


def _path(pattern: URLPattern, fields: dict[str, Any], client: Client) -> str | None:
    """Returns None for addresses that only take forms."""
    name = str(pattern.name)
    try:
        return reverse(name, kwargs=fields.get(name))
    except NoReverseMatch:
        wanted = pattern.pattern.converters
        path = reverse(name, kwargs={field: ANY[type(kind)] for field, kind in wanted.items()})
    if name not in AFTER_AN_ACT and client.get(path).status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        pytest.fail(f"{name!r} is a page of something: say of what in tests/browser/world.py.")
    return None


def _is_page(answer: Any) -> bool:
    if answer.status_code in NO_PAGE or answer.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return False
    assert answer.status_code == HTTPStatus.OK, answer.request["PATH_INFO"]
    return "Content-Disposition" not in answer and answer["Content-Type"].startswith("text/html")
