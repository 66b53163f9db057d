"""A sign-in lasts a limited time and ends in several ways; sensitive pages ask for the password
again."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Membership, Session, User
from accounts.sign_in.browsers import sessions
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

SECURITY = "/settings/security/"
COOKIE = "sessionid"
SEEN_AT = f"http://testserver{SECURITY}"
EVERYWHERE, ELSEWHERE = f"{SECURITY}everywhere", f"{SECURITY}elsewhere"
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def shift(client: Client, **ages: timedelta) -> None:
    """Makes these sessions older."""
    session = client.session
    for name, age in ages.items():
        session[name] = (timezone.now() - age).timestamp()
    session.save()


def is_in(person: Person) -> bool:
    return bool(person.get("/").status_code == 200)


def signed_in_with(user_agent: str) -> Client:
    client = Client(headers={"User-Agent": user_agent})
    client.post("/login/", {"username": "alice@example.com", "password": PASSWORD})
    return client


def marks(client: Client) -> list[str]:
    """Returns the browsers that Alice can sign out on this page."""
    return re.findall(r'name="browser" value="(\w+)"', client.get(SECURITY).content.decode())


def expiry(client: Client) -> datetime:
    return Session.objects.get(pk=client.session.session_key).expire_date


def test_a_session_of_version_0_2_goes_on(alices: Person) -> None:
    session = alices.client.session
    session["_auth_user_backend"] = "inbox.people.settings.preferences.WithPreferences"
    session.save()

    assert is_in(alices)
    assert "this browser" in text_of(alices.get(SECURITY))


def test_a_session_of_an_unknown_backend_has_ended(alices: Person) -> None:
    session = alices.client.session
    session["_auth_user_backend"] = "inbox.people.settings.other.Backend"
    session.save()

    assert not is_in(alices)


def test_a_sign_in_lasts_a_month_at_most(alices: Person) -> None:
    shift(alices.client, signed_in_at=29 * DAY)
    assert is_in(alices)

    shift(alices.client, signed_in_at=31 * DAY)

    assert not is_in(alices)
    assert not Session.objects.filter(pk=alices.client.session.session_key).exists()


def test_a_visit_extends_the_session_and_is_stored_once_an_hour(alices: Person) -> None:
    Session.objects.update(expire_date=timezone.now() + DAY)
    assert is_in(alices)
    assert expiry(alices.client) < timezone.now() + 2 * DAY, (
        "Seen a moment ago: nothing is written."
    )

    shift(alices.client, seen_at=2 * HOUR)
    Session.objects.update(expire_date=timezone.now() + DAY)
    assert is_in(alices)

    assert expiry(alices.client) > timezone.now() + 6 * DAY


def test_a_session_ends_after_a_week_without_a_visit(alices: Person) -> None:
    Session.objects.update(expire_date=timezone.now() - HOUR)

    assert not is_in(alices)


def test_only_a_form_deletes_the_cookie(alices: Person) -> None:
    """A background request may be answered after the form that gave the session another key. If the
    answer to that request deleted the cookie, it would delete the new cookie."""
    late = alices.client
    late.session.delete()

    assert COOKIE not in late.get("/service-worker.js").cookies
    assert COOKIE not in late.get(SECURITY).cookies

    assert late.post("/logout/").cookies[COOKIE]["max-age"] == 0


def test_rows_of_ended_sessions_are_deleted(alices: Person, bobs: Person) -> None:
    bobs_key = bobs.client.session.session_key
    Session.objects.exclude(pk=bobs_key).update(expire_date=timezone.now() - HOUR)

    sessions.forget_expired(at=timezone.now())

    assert [session.pk for session in Session.objects.all()] == [bobs_key]


def test_a_session_without_a_start_time_is_over(alices: Person) -> None:
    session = alices.client.session
    del session["signed_in_at"]
    session.save()

    assert not is_in(alices)


def test_signing_out_everywhere_ends_all_sessions_but_this_one(alice: User) -> None:
    here, phone, cafe = Person(alice), Person(alice), Person(alice)

    answer = here.client.post(EVERYWHERE)

    assert answer["Location"] == SECURITY
    assert "Signed out everywhere else" in text_of(here.get(SECURITY))
    assert [is_in(here), is_in(phone), is_in(cafe)] == [True, False, False]
    assert AuditEvent.objects.filter(event="person.signed_out_everywhere").count() == 1


def test_a_new_password_ends_all_sessions_but_this_one(alice: User) -> None:
    here, phone = Person(alice), Person(alice)
    new = "another pair of words"

    here.client.post(
        "/settings/password/",
        {"old_password": PASSWORD, "new_password1": new, "new_password2": new},
        page="/settings/profile/",
    )

    assert [is_in(here), is_in(phone)] == [True, False]


def test_a_person_sees_their_sessions_and_ends_one(alice: User) -> None:
    here, phone, cafe = (signed_in_with(each) for each in (FIREFOX, IPHONE, "curl/8"))
    shift(phone, seen_at=2 * DAY)
    page = text_of(here.get(SECURITY))
    assert re.findall(
        r"(Firefox on Windows this browser|Safari on an iPhone|A browser) ", page
    ) == [
        "Firefox on Windows this browser",
        "A browser",
        "Safari on an iPhone",
    ]
    of_cafe, of_phone = marks(here)

    answer = here.post(ELSEWHERE, {"browser": of_phone}, follow=True)

    assert "Signed out that browser." in text_of(answer)
    assert "iPhone" not in text_of(answer)
    assert [each.get("/").status_code for each in (here, phone, cafe)] == [200, 302, 200]
    assert marks(here) == [of_cafe]
    event = AuditEvent.objects.get(event="person.signed_out_elsewhere")
    assert (event.actor_name, event.detail) == ("alice", {"browser": "Safari on an iPhone"})


def test_ending_an_ended_session_shows_a_message(alice: User) -> None:
    here, phone = Person(alice), Person(alice)
    (mark,) = marks(here.client)
    phone.client.post("/logout/")

    answer = here.client.post(ELSEWHERE, {"browser": mark}, follow=True)

    assert "That browser was already signed out." in text_of(answer)
    assert not AuditEvent.objects.filter(event="person.signed_out_elsewhere").exists()


@pytest.mark.parametrize("end", [{"signed_in_at": 31 * DAY}, {}])
def test_expired_sessions_are_not_listed(alice: User, end: Any) -> None:
    here, phone = Person(alice), Person(alice)
    assert len(marks(here.client)) == 1

    if end:
        shift(phone.client, **end)
    else:
        here.client.post(EVERYWHERE)

    assert marks(here.client) == []


def test_another_persons_and_the_current_session_cannot_be_ended(
    alices: Person, bobs: Person
) -> None:
    elsewhere = Person(alices.user)
    (of_alice,) = marks(alices.client)
    (of_here,) = marks(elsewhere.client)

    bobs.client.post(ELSEWHERE, {"browser": of_alice}, by_hand=True)
    alices.client.post(ELSEWHERE, {"browser": of_here})

    assert marks(bobs.client) == []
    assert [is_in(each) for each in (alices, bobs, elsewhere)] == [True, True, True]


def test_no_page_shows_the_key_of_a_session(alices: Person) -> None:
    phone = Person(alices.user)

    page = alices.get(SECURITY).content.decode()

    for client in (alices.client, phone.client):
        assert str(client.session.session_key) not in page


def test_deleting_a_person_deletes_their_sessions(alices: Person, bobs: Person) -> None:
    alices.user.memberships.all().delete()
    alices.user.delete()

    assert [session.user for session in Session.objects.all()] == [bobs.user]


def test_sessions_of_other_people_stay(alices: Person, bobs: Person) -> None:
    alices.client.post(EVERYWHERE)

    assert is_in(bobs)


def test_a_deactivated_person_is_signed_out_at_once(alices: Person) -> None:
    User.objects.filter(pk=alices.user.pk).update(is_active=False)

    assert not is_in(alices)


def test_a_removed_member_sees_nothing_at_once(bobs: Person, make_delivery: Any) -> None:
    delivery = make_delivery()
    assert bobs.see(delivery).status_code == 200

    Membership.objects.filter(user=bobs.user).delete()

    assert bobs.see(delivery).status_code == 404
    assert bobs.answer(delivery).status_code == 404


SENSITIVE = [SECURITY, EVERYWHERE, ELSEWHERE, f"{SECURITY}codes/", f"{SECURITY}codes/off/"]


@pytest.mark.parametrize("path", [*SENSITIVE, f"{SECURITY}recovery-codes"])
def test_a_page_left_open_does_not_change_how_she_signs_in(alices: Person, path: str) -> None:
    shift(alices.client, password_at=timedelta(minutes=16))

    answer = alices.client.post(path, headers={"Referer": f"http://testserver{SECURITY}"})

    if answer.status_code != 405:
        assert answer["Location"] == "/sudo/?next=%2Fsettings%2Fsecurity%2F"
    assert User.objects.get(pk=alices.user.pk).session_epoch == 0


def test_a_confirmed_password_lasts_a_quarter_of_an_hour(alices: Person) -> None:
    shift(alices.client, password_at=HOUR)
    assert alices.get(SECURITY).status_code == 200, "Looking takes no password."
    asked = alices.client.post(f"{SECURITY}everywhere", headers={"Referer": SEEN_AT})
    assert asked["Location"] == "/sudo/?next=%2Fsettings%2Fsecurity%2F"
    form = alices.client.get(asked["Location"])

    wrong = alices.client.post("/sudo/", {"password": "wrong", "next": form.context["next"]})
    right = alices.client.post("/sudo/", {"password": PASSWORD, "next": form.context["next"]})

    assert wrong.status_code == 422
    assert "Wrong password" in text_of(wrong)
    assert 'value="/settings/security/"' in wrong.content.decode()
    assert (right.status_code, right["Location"]) == (303, SECURITY)
    assert alices.client.post(f"{SECURITY}everywhere")["Location"] == SECURITY
    event = AuditEvent.objects.get(event="person.password_refused")
    assert (event.actor_kind, event.object_id) == ("nobody", str(alices.user.pk))


def test_guesses_at_the_confirmation_are_counted(alices: Person) -> None:
    shift(alices.client, password_at=HOUR)

    codes = [alices.client.post("/sudo/", {"password": "x"}).status_code for _ in range(25)]

    assert codes[:10] == [422] * 10
    assert 429 in codes


def test_the_confirmation_redirects_to_an_encoded_path(alices: Person) -> None:
    answer = alices.client.post("/sudo/", {"password": PASSWORD, "next": "/?q=a\r\nX: y"})

    assert (answer.status_code, answer["Location"]) == (303, "/?q=a%0D%0AX:%20y")


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_the_confirmation_redirects_to_no_other_site(alices: Person, to: str) -> None:
    answer = alices.client.post("/sudo/", {"password": PASSWORD, "next": to})

    assert answer["Location"] == "/"
