"""Attempts at passwords are counted in the database, whether Redis is there or not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.limits import attempts
from accounts.models import SignInAttempts, User
from accounts.sign_in import limits
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
THREE = attempts.Limit(3, 60)


def sign_in(client: Client, email: str, typed: str = "wrong", address: str = "") -> int:
    form = {"username": email, "password": typed}
    return client.post("/login/", form, HTTP_X_REAL_IP=address or "192.0.2.1").status_code


@pytest.mark.usefixtures("redis_away", "_no_attempt_comes_back")
def test_guesses_stay_limited_while_redis_is_away(alice: User, settings: Any) -> None:
    settings.WAKE_CLIENT_ADDRESS = "HTTP_X_REAL_IP"

    codes = [sign_in(Client(), alice.email) for _ in range(12)]
    codes_of_many_networks = [
        sign_in(Client(), alice.email, address=f"198.51.100.{number}") for number in range(60)
    ]

    assert codes[:10] == [422] * 10
    assert codes[-1] == 429
    assert codes_of_many_networks[:45] == [422] * 45
    assert codes_of_many_networks[-1] == 429
    assert sign_in(Client(), "bob@example.com", address="203.0.113.1") == 422


@pytest.mark.usefixtures("redis_away", "_no_attempt_comes_back")
def test_a_person_is_not_locked_out_while_redis_is_away(alice: User, settings: Any) -> None:
    """An attacker guesses passwords from many networks, and Alice's own network is one of them."""
    settings.WAKE_CLIENT_ADDRESS = "HTTP_X_REAL_IP"
    hers = Client()
    sign_in(hers, alice.email, PASSWORD)
    hers.post("/logout/")

    for number in range(70):
        sign_in(Client(), alice.email, address=f"192.0.2.{number}")

    assert sign_in(Client(), alice.email, PASSWORD, address="203.0.113.1") == 429
    assert sign_in(hers, alice.email, PASSWORD) == 303


@pytest.mark.usefixtures("_no_attempt_comes_back")
def test_other_spellings_of_an_address_are_counted_as_one(alice: User) -> None:
    """Django takes ａlice@example.com for Alice, so each spelling used to give an attacker new
    attempts."""  # noqa: RUF002 - the first letter is what is tested
    wide = [chr(ord(letter) + 0xFEE0) for letter in alice.email]
    spellings = [
        alice.email[:place] + wide[place] + alice.email[place + 1 :] for place in range(11)
    ]

    signed_in = sign_in(Client(), spellings[0], PASSWORD)
    codes = [sign_in(Client(), spelling) for spelling in spellings[1:]]

    assert signed_in == 303
    assert codes == [422] * 9 + [429]


def test_attempts_come_back_one_after_the_other(db: None) -> None:
    spent = [attempts.take(THREE, of="alice", at=AT) for _ in range(4)]

    assert spent == [0, 0, 0, 20]
    assert attempts.take(THREE, of="alice", at=AT + timedelta(seconds=19)) == 1
    assert attempts.take(THREE, of="alice", at=AT + timedelta(seconds=20)) == 0
    assert attempts.take(THREE, of="alice", at=AT + timedelta(seconds=20)) == 20
    assert attempts.take(THREE, of="bob", at=AT) == 0


def test_refused_attempts_do_not_lengthen_the_wait(db: None) -> None:
    for _ in range(50):
        attempts.take(THREE, of="alice", at=AT)

    assert attempts.take(THREE, of="alice", at=AT + timedelta(seconds=20)) == 0


def test_a_row_is_deleted_once_all_of_its_attempts_are_available_again(db: None) -> None:
    attempts.take(THREE, of="alice", at=AT)
    attempts.take(THREE, of="bob", at=AT + timedelta(seconds=30))

    assert attempts.forget_unlimited(at=AT + timedelta(seconds=19)) == 0
    assert attempts.forget_unlimited(at=AT + timedelta(seconds=20)) == 1
    assert SignInAttempts.objects.count() == 1


def test_a_flood_from_one_network_fills_no_table(client: Client, db: None) -> None:
    allowed = limits.SIGN_INS_OF_A_NETWORK.attempts

    codes = [sign_in(client, f"person{number}@example.com") for number in range(allowed + 5)]

    assert codes == [422] * allowed + [429] * 5
    # There is one row for the network. Each of the allowed spellings adds one row for the person,
    # and one row for the person and the network together.
    assert SignInAttempts.objects.count() == 1 + 2 * allowed


def test_the_typed_address_is_not_stored(client: Client, db: None) -> None:
    sign_in(client, "my-password-by-mistake")

    assert SignInAttempts.objects.count() == 3
    assert "mistake" not in str(list(SignInAttempts.objects.values()))
