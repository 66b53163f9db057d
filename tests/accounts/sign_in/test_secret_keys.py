"""A new secret key signs no one out, as long as the older key is in the list."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from accounts.audit import person
from accounts.models import User
from accounts.sign_in.browsers import known_browsers, sessions
from accounts.sign_in.two_step import one_time_codes, pending_second_factor, second_factor
from database.clock import database_now
from tests.inbox.person import Person

OLD, NEW = "the old key of the sessions", "the new key of the sessions"


@pytest.fixture(autouse=True)
def secret_keys(settings: Any) -> Any:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OLD, []
    return settings


def rotate(settings: Any, *older: str) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, list(older)


def is_in(visitor: Person) -> bool:
    return bool(visitor.get("/").status_code == 200)


def test_a_rotation_signs_no_one_out_and_a_visit_takes_the_new_key(
    alices: Person, bobs: Person, secret_keys: Any
) -> None:
    assert is_in(alices)
    assert is_in(bobs)

    rotate(secret_keys, OLD)
    assert is_in(alices)
    rotate(secret_keys)

    assert is_in(alices)
    assert not is_in(bobs), "did not visit while the old key was accepted"


def test_a_key_that_is_left_out_signs_everyone_out(alices: Person, secret_keys: Any) -> None:
    assert is_in(alices)

    rotate(secret_keys)

    assert not is_in(alices)


def test_sessions_with_the_old_key_are_listed(
    alices: Person, alice: User, secret_keys: Any
) -> None:
    assert is_in(alices)
    at = database_now()
    listed = len(list(sessions._valid_sessions(alice, at=at)))

    rotate(secret_keys, OLD)
    with_both = len(list(sessions._valid_sessions(alice, at=at)))
    rotate(secret_keys)
    without = len(list(sessions._valid_sessions(alice, at=at)))

    assert (listed, with_both, without) == (1, 1, 0)


def test_a_sign_in_that_waits_for_its_code_goes_on(
    alices: Person, alice: User, secret_keys: Any
) -> None:
    at, session = database_now(), alices.client.session
    secret = one_time_codes.new_secret()
    code = one_time_codes.code_at(secret, one_time_codes.step_at(at))
    assert second_factor.turn_on(alice, secret, code, by=person(alice), at=at)
    pending_second_factor.begin(session, alice, to="/", at=at)

    rotate(secret_keys, OLD)
    with_both = pending_second_factor.person_of(session, at=at)
    rotate(secret_keys)

    assert with_both == alice
    assert pending_second_factor.person_of(session, at=at) is None


def test_a_browser_stays_known(secret_keys: Any) -> None:
    first, answer = RequestFactory().get("/"), HttpResponse()
    known_browsers.remember(first, answer, "alice@example.com")
    again = RequestFactory().get("/")
    again.COOKIES = {name: morsel.value for name, morsel in answer.cookies.items()}

    rotate(secret_keys, OLD)
    with_both = known_browsers.known_as(again, "Alice@example.com")
    other = known_browsers.known_as(again, "bob@example.com")
    rotate(secret_keys)

    assert with_both
    assert other == ""
    assert known_browsers.known_as(again, "alice@example.com") == ""
