"""A passkey is the second step after the password, and confirms a person when Wake asks again."""

from __future__ import annotations

import pytest

from accounts.audit import person
from accounts.models import User
from accounts.sign_in.browsers import session_names
from accounts.sign_in.browsers import sessions as sign_ins
from accounts.sign_in.limits import SIGN_INS
from accounts.sign_in.two_step import one_time_codes, second_factor
from database.clock import database_now
from tests.accounts.sign_in.passkeys.test_passkey_sign_in import (
    is_in,
    reasons,
    why,
    write_password,
)
from tests.fixtures.authenticator import (
    CONFIRM,
    SECOND_STEP,
    SIGN_IN,
    Authenticator,
    add_passkey,
    browser_at_localhost,
    options_of,
    send,
    use_passkey,
)
from tests.fixtures.strict_client import Client
from tests.inbox.person import text_of


def test_the_password_asks_for_the_passkey_next(browser: Client, phone: Authenticator) -> None:
    answer = write_password(browser, next="/history/")
    assert answer["Location"] == "/login/code/"
    page = browser.get("/login/code/")
    assert "Use your passkey" in text_of(page)
    assert 'name="code"' not in page.content.decode(), "There is no app to read one from."
    assert not is_in(browser)
    before = browser.session.session_key

    phone.verifies = False  # the password has identified the person
    answer = use_passkey(browser, SECOND_STEP, phone)

    assert (answer.status_code, answer["Location"]) == (303, "/history/")
    assert is_in(browser)
    assert browser.session.session_key != before


def test_the_second_step_takes_no_passkey_of_another_person(
    browser: Client, phone: Authenticator, bob: User
) -> None:
    bobs = Authenticator()
    add_passkey(browser_at_localhost(bob), bobs)
    write_password(browser)

    use_passkey(browser, SECOND_STEP, bobs)

    assert not is_in(browser)
    assert "doesn't work here" in why(browser, "/login/code/")
    assert reasons() == ["unknown"]


def test_a_challenge_of_the_sign_in_page_is_none_of_the_second_step(
    browser: Client, phone: Authenticator
) -> None:
    write_password(browser)
    signed = phone.get(options_of(browser, f"{SIGN_IN}/"))

    send(browser, SECOND_STEP, signed)

    assert not is_in(browser)
    assert reasons() == ["challenge"]


@pytest.mark.parametrize("path", [SECOND_STEP, f"{SECOND_STEP}/options"])
def test_without_a_password_there_is_no_second_step(browser: Client, path: str) -> None:
    assert browser.post(path)["Location"] == "/login/"


def test_a_recovery_code_replaces_the_passkey(browser: Client, alice: User) -> None:
    shown = add_passkey(browser_at_localhost(alice), Authenticator())
    [code, *_] = shown.context["codes"]
    write_password(browser)

    assert browser.post("/login/code/", {"code": "000000"}).status_code == 422
    assert browser.post("/login/code/", {"recovery_code": code}).status_code == 303

    assert is_in(browser)


def test_without_an_app_the_form_speaks_of_recovery_codes_only(
    browser: Client, phone: Authenticator
) -> None:
    write_password(browser)

    empty = text_of(browser.post("/login/code/", {"recovery_code": ""}))
    wrong = text_of(browser.post("/login/code/", {"recovery_code": "abcde"}))

    assert "Enter a recovery code." in empty
    assert "Wrong or already used recovery code. Try another one." in wrong
    assert "your app" not in empty + wrong
    assert "Wait for the next one" not in wrong


@pytest.mark.usefixtures("_no_attempt_comes_back")
def test_attempts_at_recovery_codes_are_limited(browser: Client, phone: Authenticator) -> None:
    write_password(browser)
    tried = [browser.post("/login/code/", {"recovery_code": "x"}) for _ in range(SIGN_INS.attempts)]

    assert (tried[0].status_code, tried[-1].status_code) == (422, 429)
    assert "Wait 1 min. If that wasn't you" in text_of(tried[-1])
    assert "or use a recovery code" not in text_of(tried[-1])


def test_an_app_and_a_passkey_are_each_enough(
    browser: Client, alice: User, phone: Authenticator
) -> None:
    secret, at = one_time_codes.new_secret(), database_now()
    code = one_time_codes.code_at(secret, one_time_codes.step_at(at) - 1)
    assert second_factor.turn_on(alice, secret, code, by=person(alice), at=at)
    write_password(browser)
    page = text_of(browser.get("/login/code/"))
    assert "The six digits" in page
    assert "Use your passkey" in page

    browser.post(
        "/login/code/", {"code": one_time_codes.code_at(secret, one_time_codes.step_at(at))}
    )

    assert is_in(browser)


def confirmed(client: Client) -> bool:
    return sign_ins.is_password_fresh(client.session, at=database_now())


@pytest.fixture
def stale(alice: User, phone: Authenticator) -> Client:
    """Returns Alice's browser, in which she gave her password long ago."""
    alice.refresh_from_db()
    client = browser_at_localhost(alice)
    session = client.session
    session[session_names.PASSWORD] = 0
    session.save()
    return client


def test_a_passkey_is_taken_when_wake_asks_again(stale: Client, phone: Authenticator) -> None:
    to = stale.get("/settings/address/")["Location"]
    assert "Use your passkey" in text_of(stale.get(to))

    answer = use_passkey(stale, CONFIRM, phone, next="/settings/address/")

    assert answer["Location"] == "/settings/address/"
    assert confirmed(stale)


def test_it_must_check_the_person_then(stale: Client, phone: Authenticator) -> None:
    phone.verifies = False

    answer = use_passkey(stale, CONFIRM, phone, next="/settings/address/")

    assert answer["Location"] == "/sudo/?next=%2Fsettings%2Faddress%2F"
    assert not confirmed(stale)


def test_it_must_be_their_own_then(stale: Client, bob: User) -> None:
    bobs = Authenticator()
    add_passkey(browser_at_localhost(bob), bobs)

    use_passkey(stale, CONFIRM, bobs)

    assert not confirmed(stale)
