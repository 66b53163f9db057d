"""Forged requests of another site and planted sessions have no effect."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone

from accounts.audit import person
from accounts.models import User
from accounts.sign_in.two_step import one_time_codes, second_factor
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.tenancy import addresses
from tests.tenancy.team_data import TeamData, everything

pytestmark = pytest.mark.slow

UNSAFE = ["post", "put", "patch", "delete"]
NOT_OURS = "this form has expired"


@pytest.fixture
def browser(alice: User) -> Client:
    """Returns Alice's browser. Alice may do everything, and the client sends form tokens as a real
    browser does."""
    alice.is_staff = alice.is_superuser = True
    alice.save()
    browser = Client(sends_tokens=False)
    browser.force_login(alice)
    return browser


def test_no_page_accepts_a_form_of_another_site(
    browser: Client, ours: TeamData, subtests: pytest.Subtests
) -> None:
    before = everything()

    for address in [*addresses.OF_PAGES, *addresses.OF_ADMIN]:
        with subtests.test(address.route):
            path = address.path_to_nothing()
            for answer in (getattr(browser, method)(path) for method in UNSAFE):
                assert answer.status_code == HTTPStatus.FORBIDDEN
                assert NOT_OURS in answer.content.decode()

    assert everything() == before


@pytest.mark.parametrize("token", ["", "x" * 64])
def test_a_form_with_the_csrf_token_is_accepted(browser: Client, token: str) -> None:
    """Without this test, a server that refuses everything would pass the test above."""
    browser.get("/settings/profile/")
    ours = browser.cookies[settings.CSRF_COOKIE_NAME].value

    taken = browser.post("/settings/theme/", {"theme": "dark", "csrfmiddlewaretoken": ours})
    refused = browser.post("/settings/theme/", {"theme": "light", "csrfmiddlewaretoken": token})

    assert taken.status_code == HTTPStatus.SEE_OTHER
    assert NOT_OURS in refused.content.decode()
    assert 'data-theme="dark"' in browser.get("/settings/theme/").content.decode()


def test_the_protocol_sees_no_cookie(
    browser: Client, ours: TeamData, subtests: pytest.Subtests
) -> None:
    """With a person's cookies, the protocol answers a request as if there were none."""
    nobody, before = Client(), everything()

    for address in addresses.OF_PROTOCOL:
        with subtests.test(address.route):
            path = address.path_to_nothing()
            cache.clear()  # so that the limit of bad keys does not answer
            for method in ["get", *UNSAFE]:
                answer, known = getattr(browser, method)(path), getattr(nobody, method)(path)
                assert (answer.status_code, answer.headers) == (known.status_code, known.headers)
                assert NOT_OURS not in answer.content.decode()
                assert not answer.cookies
                assert "Cookie" not in answer.get("Vary", "")

    assert everything() == before


def test_a_key_needs_no_token(browser: Client, caller: AgentClient) -> None:
    caller.client = browser

    assert caller.deliver()


def test_every_step_of_signing_in_renews_the_session(alice: User) -> None:
    """An attacker who planted the session id before the sign-in gets nothing."""
    planted = Client()
    planted.session.save()
    secret = _in_her_app(alice)
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = _key(planted)

    steps: list[tuple[str, dict[str, str]]] = [
        ("/login/", {"username": alice.email, "password": PASSWORD}),
        ("/login/code/", {"code": _code(secret, timezone.now())}),
        (
            "/settings/password/",
            {
                "old_password": PASSWORD,
                "new_password1": "an even longer sentence",
                "new_password2": "an even longer sentence",
            },
        ),
    ]
    keys = [_key(planted)]
    for path, form in steps:
        page = path.replace("password", "profile")
        assert client.post(path, form, page=page).status_code == HTTPStatus.SEE_OTHER, path
        keys.append(_key(client))

    assert len(set(keys)) == len(keys)
    assert client.get("/").status_code == HTTPStatus.OK
    for known in keys[:-1]:
        planted.cookies[settings.SESSION_COOKIE_NAME] = known
        assert planted.get("/").status_code == HTTPStatus.FOUND


def _key(client: Client) -> str:
    return str(client.cookies[settings.SESSION_COOKIE_NAME].value)


def _in_her_app(alice: User) -> str:
    """Sets up an app for Alice that showed its first code a minute ago, and returns the app's
    secret."""
    secret, at = one_time_codes.new_secret(), timezone.now() - timedelta(minutes=1)
    assert second_factor.turn_on(alice, secret, _code(secret, at), by=person(alice), at=at)
    return secret


def _code(secret: str, at: Any) -> str:
    return one_time_codes.code_at(secret, one_time_codes.step_at(at))
