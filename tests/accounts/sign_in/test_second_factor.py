"""Each code works once, the number of tries is limited, and recovery codes replace a lost phone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.audit import person
from accounts.models import AuditEvent, RecoveryCode, SecondFactor, User
from accounts.sign_in.two_step import one_time_codes, second_factor

AT = datetime(2026, 11, 21, 10, 0, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Authenticator:
    """Holds Alice's phone and her recovery codes."""

    def __init__(self, user: User) -> None:
        self.user, self.secret = user, one_time_codes.new_secret()
        self.codes = second_factor.turn_on(
            user, self.secret, self.code(AT - MINUTE), by=person(user), at=AT - MINUTE
        )

    def code(self, at: datetime) -> str:
        return one_time_codes.code_at(self.secret, one_time_codes.step_at(at))

    def check(self, typed: str, at: datetime = AT) -> bool:
        return second_factor.check(self.user, typed, by=person(self.user), at=at)


@pytest.fixture
def phone(alice: User) -> Authenticator:
    return Authenticator(alice)


def events() -> list[str]:
    recorded = AuditEvent.objects.filter(event__startswith="second_factor.").order_by("pk")
    return [event.event.removeprefix("second_factor.") for event in recorded]


def test_it_is_turned_on_by_one_right_code(alice: User) -> None:
    secret = one_time_codes.new_secret()
    wrong = one_time_codes.code_at(secret, one_time_codes.step_at(AT) + 7)

    assert second_factor.turn_on(alice, secret, wrong, by=person(alice), at=AT) is None
    assert not second_factor.is_on(alice)
    right = one_time_codes.code_at(secret, one_time_codes.step_at(AT))
    codes = second_factor.turn_on(alice, secret, right, by=person(alice), at=AT)

    assert codes
    assert len(set(codes)) == 10
    assert events() == ["turned_on"]


def test_two_pages_that_set_it_up_make_one(phone: Authenticator) -> None:
    """Both pages show the same secret. A second secret would be stored nowhere, and its codes would
    be useless."""
    assert Authenticator(phone.user).codes is None
    assert phone.check(phone.code(AT))


def test_a_code_works_once(phone: Authenticator) -> None:
    code = phone.code(AT)

    assert [phone.check(code), phone.check(code)] == [True, False]
    assert phone.check(phone.code(AT + MINUTE), AT + MINUTE)
    assert events() == ["turned_on", "code_refused"]


def test_the_code_that_turned_it_on_works_once_too(phone: Authenticator) -> None:
    assert not phone.check(phone.code(AT - MINUTE), AT - MINUTE)


def test_a_code_may_be_typed_as_the_app_shows_it(phone: Authenticator) -> None:
    code = phone.code(AT)

    assert phone.check(f" {code[:3]} {code[3:]}\n")


def test_a_recovery_code_works_once_in_any_spelling(phone: Authenticator) -> None:
    assert phone.codes
    code = phone.codes[3]

    assert phone.check(code.upper().replace("-", " "))
    assert not phone.check(code)
    assert second_factor.recovery_codes_left(phone.user) == 9
    assert events() == ["turned_on", "recovery_code_used", "code_refused"]


def test_new_recovery_codes_stop_the_old_ones(phone: Authenticator) -> None:
    assert phone.codes
    new = second_factor.renew_recovery_codes(phone.user, by=person(phone.user))

    assert not phone.check(phone.codes[0])
    assert phone.check(new[0])


def test_attempts_at_codes_are_limited_and_refill_slowly(phone: Authenticator) -> None:
    wrong = [phone.check("000000", AT) for _ in range(second_factor.ATTEMPTS)]

    assert not any(wrong)
    with pytest.raises(second_factor.TriesSpent) as refused:
        phone.check(phone.code(AT))
    assert 300 < refused.value.retry_after <= 360
    later = AT + timedelta(seconds=refused.value.retry_after)
    assert phone.check(phone.code(later), later)


def test_a_person_who_knows_the_password_cannot_lock_her_out(phone: Authenticator) -> None:
    for _ in range(second_factor.ATTEMPTS):
        phone.check("000000")
    assert phone.codes

    assert phone.check(phone.codes[0]), "A recovery code works whatever was tried."
    second_factor.reset_tries(phone.user)
    assert phone.check(phone.code(AT)), "And so does any code, once her password is another one."


def test_the_secret_is_kept_encrypted_and_recovery_codes_as_hashes(phone: Authenticator) -> None:
    assert phone.codes
    stored = f"{SecondFactor.objects.values().get()} {list(RecoveryCode.objects.values())}"

    assert phone.secret not in stored
    assert not [code for code in phone.codes if code in stored or code.replace("-", "") in stored]


def test_without_the_encryption_key_recovery_codes_still_work(
    phone: Authenticator, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.WAKE_ENCRYPTION_KEYS = ["another one, and the first is gone"]
    assert phone.codes

    assert not phone.check(phone.code(AT))
    assert "cannot be read" in caplog.text
    assert phone.check(phone.codes[0])


def test_the_operator_lets_a_person_in_who_lost_every_factor(phone: Authenticator) -> None:
    before = phone.user.get_session_auth_hash()

    call_command("remove_second_factor", "Alice@example.com")

    assert not second_factor.is_on(phone.user)
    assert not RecoveryCode.objects.exists()
    assert User.objects.get(pk=phone.user.pk).get_session_auth_hash() != before
    event = AuditEvent.objects.get(event="second_factor.turned_off")
    assert (event.actor_kind, event.object_name) == ("operator", "alice")


@pytest.mark.parametrize("email", ["bob@example.com", "nobody@example.com"])
def test_the_command_says_that_there_is_nothing_to_remove(bob: User, email: str) -> None:
    with pytest.raises(CommandError, match="no two-step sign-in"):
        call_command("remove_second_factor", email)


def test_names(phone: Authenticator) -> None:
    names = [str(SecondFactor.objects.get()), str(RecoveryCode.objects.all()[0])]

    assert names == ["Second factor of alice", "Recovery code of alice"]
