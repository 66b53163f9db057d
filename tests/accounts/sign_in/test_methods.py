"""A session records by which methods its person signed in, and when the person last used a
method."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from accounts.models import User
from accounts.sign_in.browsers.session_names import METHODS, PASSWORD
from accounts.sign_in.browsers.sessions import Authentication, authentication_of
from tests.accounts.sign_in.oidc.mock_provider import MockProvider
from tests.accounts.sign_in.oidc.visitor import visit
from tests.accounts.sign_in.test_second_factor_pages import code_of, secret, write_code
from tests.fixtures.authenticator import (
    CONFIRM,
    SECOND_STEP,
    SIGN_IN,
    Authenticator,
    add_passkey,
    browser_at_localhost,
    use_passkey,
)
from tests.fixtures.people import PASSWORD as HER_PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person

__all__ = ["secret"]  # pytest finds this fixture by its name in the module


def methods(client: Client) -> tuple[str, ...]:
    return authentication_of(client.session).methods


def write_password(client: Client) -> None:
    client.post("/login/", {"username": "alice@example.com", "password": HER_PASSWORD})


def test_a_password_signs_in(client: Client, alice: User) -> None:
    before = timezone.now() - timedelta(seconds=1)

    write_password(client)

    signed_in = authentication_of(client.session)
    assert signed_in.methods == ("pwd",)
    assert signed_in.at is not None
    assert before <= signed_in.at <= timezone.now()


def test_a_code_is_added_to_the_password(client: Client, secret: str) -> None:
    write_password(client)
    assert methods(client) == ()

    write_code(client, code_of(secret))

    assert methods(client) == ("pwd", "otp")


def test_a_passkey_signs_in_or_is_the_second_step(alice: User) -> None:
    device = Authenticator()
    add_passkey(browser_at_localhost(alice), device)
    alone, second = browser_at_localhost(), browser_at_localhost()

    use_passkey(alone, SIGN_IN, device)
    write_password(second)
    use_passkey(second, SECOND_STEP, device)

    assert methods(alone) == ("hwk",)
    assert methods(second) == ("pwd", "hwk")


def test_a_provider_signs_in(client: Client, provider: MockProvider) -> None:
    visit(client)

    assert methods(client) == ("fed",)


def test_asking_again_adds_the_method_and_moves_the_time(alice: User) -> None:
    device = Authenticator()
    browser = browser_at_localhost(alice)
    add_passkey(browser, device)
    session = browser.session
    session[METHODS], session[PASSWORD] = ["pwd"], 1_000_000_000.5
    session.save()
    earlier = authentication_of(browser.session)

    use_passkey(browser, CONFIRM, device)

    later = authentication_of(browser.session)
    assert (earlier.methods, later.methods) == (("pwd",), ("pwd", "hwk"))
    assert earlier.at is not None
    assert later.at is not None
    assert later.at - earlier.at > timedelta(days=365)


def test_a_session_of_an_earlier_version_knows_no_method(alices: Person) -> None:
    session = alices.client.session
    del session[METHODS]
    session[PASSWORD] = 0
    session.save()

    assert authentication_of(alices.client.session) == Authentication()
