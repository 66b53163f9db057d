"""A code that several browsers send concurrently works once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from accounts.models import User
from accounts.sign_in.two_step import second_factor
from tests.accounts.sign_in.test_second_factor import Authenticator
from tests.stress.concurrency.threads import at_once

AT = datetime(2026, 11, 21, 10, 0, 10, tzinfo=UTC)


def sending(phone: Authenticator, typed: str) -> Callable[[], bool | None]:
    """Returns a function that sends the code. The function returns None when all tries are used
    up."""

    def send() -> bool | None:
        try:
            return phone.check(typed, AT)
        except second_factor.TriesSpent:
            return None

    return send


def test_of_a_concurrent_code_and_recovery_code_one_signs_in(alice: User) -> None:
    phone = Authenticator(alice)
    assert phone.codes

    by_code = at_once(*[sending(phone, phone.code(AT))] * 6)
    by_recovery_code = at_once(*[sending(phone, phone.codes[0])] * 6)

    assert by_code.count(True) == 1
    assert by_recovery_code.count(True) == 1


def test_concurrent_guesses_do_not_exceed_the_limit(alice: User) -> None:
    phone = Authenticator(alice)

    guessed = at_once(*[sending(phone, "000000")] * (second_factor.ATTEMPTS + 6))

    assert guessed.count(False) == second_factor.ATTEMPTS
    assert guessed.count(None) == 6
