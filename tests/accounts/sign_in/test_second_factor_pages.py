"""A person sets up a second factor and signs in with a code after the password."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import person
from accounts.models import AuditEvent, SecondFactor, User
from accounts.sign_in.two_step import one_time_codes, pending_second_factor, second_factor
from accounts.sign_in.two_step.qr_codes import qr_code
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

SETTINGS = "/settings/security/"
SET_UP, OFF = f"{SETTINGS}codes/", f"{SETTINGS}codes/off/"


def code_of(secret: str, *, steps: int = 0) -> str:
    return one_time_codes.code_at(secret, one_time_codes.step_at(timezone.now()) + steps)


@pytest.fixture
def secret(alice: User) -> str:
    """Sets up Alice's app, which showed its first code a minute ago."""
    new_secret, at = one_time_codes.new_secret(), timezone.now() - timedelta(minutes=1)
    code = one_time_codes.code_at(new_secret, one_time_codes.step_at(at))
    assert second_factor.turn_on(alice, new_secret, code, by=person(alice), at=at)
    return new_secret


def write_password(client: Client, **fields: str) -> Any:
    form = {"username": "alice@example.com", "password": PASSWORD, **fields}
    return client.post("/login/", form)


def write_code(client: Client, code: str, field: str = "code") -> Any:
    return client.post("/login/code/", {field: code})


def is_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def test_the_password_alone_does_not_sign_in(client: Client, secret: str) -> None:
    answer = write_password(client)

    assert (answer.status_code, answer["Location"]) == (303, "/login/code/")
    assert "Two-step sign-in" in text_of(client.get("/login/code/"))
    assert not is_in(client)
    assert not AuditEvent.objects.filter(event="person.signed_in").exists()


def test_password_and_code_lead_to_the_requested_page(client: Client, secret: str) -> None:
    write_password(client, next="/history/?q=prices")
    before = client.session.session_key

    answer = write_code(client, code_of(secret))

    assert (answer.status_code, answer["Location"]) == (303, "/history/?q=prices")
    assert is_in(client)
    assert client.session.session_key != before
    assert pending_second_factor.KEY not in client.session


def test_the_requested_page_is_not_stored_in_plain_text(client: Client, secret: str) -> None:
    """The requested page may be the link of an invitation, and such a link is a secret."""
    way = "/join/wk_join_" + "0" * 36 + "/"
    write_password(client, next=way)

    assert way not in str(dict(client.session.items()))
    assert write_code(client, code_of(secret))["Location"] == way


def test_there_is_no_way_into_the_admin_by_password_alone(
    client: Client, alice: User, secret: str
) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    client.get("/admin/", follow=True)

    client.post("/admin/login/", {"username": alice.email, "password": PASSWORD}, follow=True)
    write_password(client, next="/admin/")

    assert client.get("/admin/").status_code == 302
    assert write_code(client, code_of(secret))["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200


def test_a_wrong_code_is_asked_for_again(client: Client, secret: str) -> None:
    write_password(client)

    answer = write_code(client, code_of(secret, steps=9))

    assert answer.status_code == 422
    assert "Wrong or already used code. Wait for the next one." in text_of(answer)
    assert not is_in(client)
    wrong = write_code(client, "abcde", "recovery_code")
    assert "Wrong or already used recovery code. Try another one." in text_of(wrong)
    assert write_code(client, code_of(secret)).status_code == 303


@pytest.mark.parametrize("typed", ["", " ", "\x00", "abc", "٣٣٣٣٣٣", "9" * 500])
def test_a_malformed_code_is_no_server_error(client: Client, secret: str, typed: str) -> None:
    write_password(client)

    assert write_code(client, typed).status_code == 422


def test_a_recovery_code_replaces_the_apps_code(client: Client, alice: User, secret: str) -> None:
    [code, *_] = second_factor.renew_recovery_codes(alice, by=person(alice))
    write_password(client)

    write_code(client, code, "recovery_code")

    assert "9 are left" in text_of(client.get("/"))


def test_too_many_codes_are_refused_with_the_minutes_to_wait(client: Client, secret: str) -> None:
    write_password(client)
    for _ in range(second_factor.ATTEMPTS):
        write_code(client, "000000")

    refused = write_code(client, code_of(secret))

    assert refused.status_code == 429
    assert 300 < int(refused["Retry-After"]) <= 360
    assert "Wait 6 min or use a recovery code." in text_of(refused)
    assert not is_in(client)


def test_a_code_without_a_password_is_led_to_the_sign_in(client: Client, secret: str) -> None:
    assert client.get("/login/code/")["Location"] == "/login/"
    assert write_code(client, code_of(secret))["Location"] == "/login/"


def test_a_password_that_was_changed_meanwhile_no_longer_counts(
    client: Client, alice: User, secret: str
) -> None:
    write_password(client)
    alice.set_password("another pair of words")
    alice.save()

    assert write_code(client, code_of(secret))["Location"] == "/login/"


def test_a_person_deactivated_meanwhile_is_not_signed_in(
    client: Client, alice: User, secret: str
) -> None:
    write_password(client)
    User.objects.update(is_active=False)

    assert write_code(client, code_of(secret))["Location"] == "/login/"


def test_a_pending_second_factor_lasts_ten_minutes(client: Client, secret: str) -> None:
    write_password(client)
    session, now = client.session, timezone.now()

    assert pending_second_factor.person_of(session, at=now + timedelta(minutes=9))
    assert pending_second_factor.person_of(session, at=now + timedelta(minutes=11)) is None


def set_up(alices: Person) -> Any:
    page = alices.get(SET_UP)
    secret = page.context["secret"].replace(" ", "")
    return alices.client.post(SET_UP, {"code": code_of(secret)})


def test_it_is_set_up_with_a_picture_and_one_right_code(alices: Person) -> None:
    page = alices.get(SET_UP)
    secret = page.context["secret"].replace(" ", "")

    wrong = alices.client.post(SET_UP, {"code": code_of(secret, steps=9)})
    assert wrong.status_code == 422
    assert wrong.context["secret"] == page.context["secret"], "The app has read it already."
    right = alices.client.post(SET_UP, {"code": code_of(secret)})

    codes = re.findall(r"\b[a-z2-9]{5}-[a-z2-9]{5}-[a-z2-9]{5}\b", right.content.decode())
    assert len(set(codes)) == 10
    assert "no-store" in right["Cache-Control"]
    assert second_factor.is_on(alices.user)
    assert "otpauth://totp/Wake%20on%20testserver:alice%40example.com" in text_of(page)
    assert secret not in str(list(alices.client.session.values()))


def test_turning_it_on_ends_every_other_session(alices: Person, alice: User) -> None:
    elsewhere = Person(alice)

    set_up(alices)

    assert alices.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302


def test_it_is_turned_off_with_a_code(alices: Person, secret: str) -> None:
    alices = Person(User.objects.get())

    assert alices.client.post(OFF, {"code": "000000"}).status_code == 422
    assert second_factor.is_on(alices.user)
    assert alices.client.post(OFF, {"code": code_of(secret)}).status_code == 303

    assert not second_factor.is_on(alices.user)
    assert "Two-step sign-in is off" in text_of(alices.get(SETTINGS))
    assert AuditEvent.objects.filter(event="second_factor.turned_off").count() == 1


def test_attempts_to_turn_it_off_are_counted(alice: User, secret: str) -> None:
    alices = Person(User.objects.get())
    for _ in range(second_factor.ATTEMPTS):
        alices.client.post(OFF, {"code": "000000"})

    assert alices.client.post(OFF, {"code": code_of(secret)}).status_code == 429
    assert SecondFactor.objects.exists()


def test_a_page_asks_before_recovery_codes_end(alice: User, secret: str) -> None:
    alices = Person(User.objects.get())

    page = text_of(alices.get(f"{SETTINGS}recovery-codes"))

    assert "Your old recovery codes stop working immediately." in page
    assert "10 recovery codes left." in text_of(alices.get(SETTINGS))


def test_new_recovery_codes_are_shown_once(alice: User, secret: str) -> None:
    alices = Person(User.objects.get())

    page = alices.client.post(f"{SETTINGS}recovery-codes")

    assert page.status_code == 200
    assert len(page.context["codes"]) == 10
    assert "10 recovery codes left." in text_of(alices.get(SETTINGS))


@pytest.mark.parametrize("path", [OFF, f"{SETTINGS}recovery-codes"])
def test_without_a_second_factor_there_is_nothing_to_turn_off_or_renew(
    alices: Person, path: str
) -> None:
    assert alices.client.post(path, by_hand=True)["Location"] == SETTINGS


def test_setting_it_up_twice_makes_one(alices: Person) -> None:
    set_up(alices)

    assert alices.get(SET_UP)["Location"] == SETTINGS


def test_owners_see_who_has_a_second_factor(alices: Person, bobs: Person, alice: User) -> None:
    set_up(alices)

    hers, his = (text_of(person.get("/settings/members/")) for person in (alices, bobs))
    assert "alice you Owner · two-step sign-in on" in hers
    assert "bob Reviewer · two-step sign-in off" in hers
    assert "password alone" not in his
    assert "two-step" not in his


def test_the_qr_code_contains_the_same_secret_as_the_text() -> None:
    """The test decodes the path of the drawing into the modules that segno drew."""
    text = "otpauth://totp/Wake:alice%40example.com?secret=ABCDEFGHIJKLMNOP&issuer=Wake"
    code = qr_code(text)
    boxes = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", code.path)

    dark = {
        (int(x) + step, int(y))
        for x, y, width, back in boxes
        if width == back
        for step in range(int(width))
    }

    assert {xy for xy in dark if min(xy) < 4 or max(xy) >= code.size - 4} == set()
    finder = {(4 + step, 4) for step in range(7)}
    assert finder <= dark
    assert (11, 4) not in dark
