"""How long a sign-in lasts, and what ends it; and the password that is asked for again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts import sessions
from accounts.models import AuditEvent, Membership, User
from tests.conftest import PASSWORD
from tests.inbox.people import Person, text_of

SECURITY = "/settings/security/"
EVERYWHERE = f"{SECURITY}everywhere"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def shift(client: Client, **ages: timedelta) -> None:
    """As if these had been so long ago."""
    session = client.session
    for name, age in ages.items():
        session[name] = (timezone.now() - age).timestamp()
    session.save()


def is_in(person: Person) -> bool:
    return bool(person.get("/").status_code == 200)


def expiry(client: Client) -> datetime:
    return Session.objects.get(pk=client.session.session_key).expire_date


def test_a_sign_in_lasts_a_month_at_most(alices: Person) -> None:
    shift(alices.client, signed_in_at=29 * DAY)
    assert is_in(alices)

    shift(alices.client, signed_in_at=31 * DAY)

    assert not is_in(alices)
    assert not Session.objects.filter(pk=alices.client.session.session_key).exists()


def test_a_visit_keeps_it_for_another_week_and_is_written_once_an_hour(alices: Person) -> None:
    Session.objects.update(expire_date=timezone.now() + DAY)
    assert is_in(alices)
    assert expiry(alices.client) < timezone.now() + 2 * DAY, (
        "Seen a moment ago: nothing is written."
    )

    shift(alices.client, seen_at=2 * HOUR)
    Session.objects.update(expire_date=timezone.now() + DAY)
    assert is_in(alices)

    assert expiry(alices.client) > timezone.now() + 6 * DAY


def test_after_a_week_without_a_visit_it_is_over(alices: Person) -> None:
    Session.objects.update(expire_date=timezone.now() - HOUR)

    assert not is_in(alices)


def test_rows_of_sessions_that_are_over_do_not_pile_up(alices: Person, bobs: Person) -> None:
    bobs_key = bobs.client.session.session_key
    Session.objects.exclude(pk=bobs_key).update(expire_date=timezone.now() - HOUR)

    sessions.forget_expired(at=timezone.now())

    assert [session.pk for session in Session.objects.all()] == [bobs_key]


def test_a_session_that_does_not_say_when_it_began_is_over(alices: Person) -> None:
    session = alices.client.session
    del session["signed_in_at"]
    session.save()

    assert not is_in(alices)


def test_signing_out_everywhere_ends_all_sessions_but_this_one(alice: User) -> None:
    here, phone, cafe = Person(alice), Person(alice), Person(alice)

    answer = here.client.post(EVERYWHERE)

    assert answer["Location"] == SECURITY
    assert "signed out everywhere but here" in text_of(here.get(SECURITY))
    assert [is_in(here), is_in(phone), is_in(cafe)] == [True, False, False]
    assert AuditEvent.objects.filter(event="person.signed_out_everywhere").count() == 1


def test_so_does_a_new_password(alice: User) -> None:
    here, phone = Person(alice), Person(alice)
    new = "another pair of words"

    here.client.post(
        "/settings/password/",
        {"old_password": PASSWORD, "new_password1": new, "new_password2": new},
    )

    assert [is_in(here), is_in(phone)] == [True, False]


def test_another_persons_sessions_stay(alices: Person, bobs: Person) -> None:
    alices.client.post(EVERYWHERE)

    assert is_in(bobs)


def test_who_is_switched_off_is_out_at_once(alices: Person) -> None:
    User.objects.filter(pk=alices.user.pk).update(is_active=False)

    assert not is_in(alices)


def test_a_removed_member_sees_nothing_at_once(bobs: Person, make_delivery: Any) -> None:
    delivery = make_delivery()
    assert bobs.see(delivery).status_code == 200

    Membership.objects.filter(user=bobs.user).delete()

    assert bobs.see(delivery).status_code == 404
    assert bobs.answer(delivery).status_code == 404


SENSITIVE = [SECURITY, EVERYWHERE, f"{SECURITY}codes/", f"{SECURITY}codes/off/"]


@pytest.mark.parametrize("path", [*SENSITIVE, f"{SECURITY}recovery-codes"])
def test_a_page_left_open_does_not_change_how_she_signs_in(alices: Person, path: str) -> None:
    shift(alices.client, password_at=timedelta(minutes=16))

    answer = alices.client.post(path, headers={"Referer": f"http://testserver{SECURITY}"})

    if answer.status_code != 405:
        assert answer["Location"] == "/sudo/?next=%2Fsettings%2Fsecurity%2F"
    assert User.objects.get(pk=alices.user.pk).session_epoch == 0


def test_the_password_opens_it_for_a_quarter_of_an_hour(alices: Person) -> None:
    shift(alices.client, password_at=HOUR)
    asked = alices.get(SECURITY)
    assert asked["Location"] == "/sudo/?next=%2Fsettings%2Fsecurity%2F"
    form = alices.client.get(asked["Location"])

    wrong = alices.client.post("/sudo/", {"password": "wrong", "next": form.context["next"]})
    right = alices.client.post("/sudo/", {"password": PASSWORD, "next": form.context["next"]})

    assert wrong.status_code == 422
    assert "That is not your password" in text_of(wrong)
    assert 'value="/settings/security/"' in wrong.content.decode()
    assert (right.status_code, right["Location"]) == (303, SECURITY)
    assert alices.get(SECURITY).status_code == 200
    event = AuditEvent.objects.get(event="person.password_refused")
    assert (event.actor_kind, event.object_id) == ("nobody", str(alices.user.pk))


def test_guesses_there_are_counted(alices: Person) -> None:
    shift(alices.client, password_at=HOUR)

    codes = [alices.client.post("/sudo/", {"password": "x"}).status_code for _ in range(25)]

    assert codes[:10] == [422] * 10
    assert 429 in codes


def test_it_leads_to_an_odd_path_as_a_header_can_say_it(alices: Person) -> None:
    answer = alices.client.post("/sudo/", {"password": PASSWORD, "next": "/?q=a\r\nX: y"})

    assert (answer.status_code, answer["Location"]) == (303, "/?q=a%0D%0AX:%20y")


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_it_leads_to_no_other_site(alices: Person, to: str) -> None:
    answer = alices.client.post("/sudo/", {"password": PASSWORD, "next": to})

    assert answer["Location"] == "/"
