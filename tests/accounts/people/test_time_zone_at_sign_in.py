"""At sign-in the browser gives the time zone, once, if the person has not chosen one."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent, User
from tests.accounts.teams.test_joining import invite as invited
from tests.accounts.teams.test_joining import link_on, sign_up
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of


def sign_in(user: User, zone: str) -> Any:
    fields = {"username": user.email, "password": PASSWORD, "time_zone": zone}
    browser = Client()
    assert browser.post("/login/", fields).status_code == 303
    user.refresh_from_db()
    return browser.get("/")


def test_the_first_sign_in_takes_the_time_zone_of_the_browser(alice: User) -> None:
    page = text_of(sign_in(alice, "Asia/Kathmandu"))

    assert alice.time_zone == "Asia/Kathmandu"
    assert "Times are in Asia/Kathmandu, as in your browser." in page
    event = AuditEvent.objects.get(event="person.changed")
    assert event.detail == {"time_zone": "Asia/Kathmandu"}
    sign_in(alice, "Europe/Berlin")
    assert alice.time_zone == "Asia/Kathmandu", "They travel."


@pytest.mark.parametrize(
    "zone", ["", "UTC", "Mars/Olympus", "../etc/passwd", "Europe/../../etc/passwd", "x" * 5000]
)
def test_what_is_no_place_changes_nothing(alice: User, zone: str) -> None:
    assert sign_in(alice, zone).status_code == 200
    assert alice.time_zone == "UTC"
    assert not AuditEvent.objects.filter(event="person.changed").exists()


def test_a_person_who_chose_utc_keeps_it(alices: Person) -> None:
    alices.client.post("/settings/profile/", {"display_name": "alice", "time_zone": "UTC"})

    sign_in(alices.user, "Europe/Berlin")

    assert alices.user.time_zone == "UTC"


def test_joining_takes_it_too(alices: Person) -> None:
    link = link_on(invited(alices))

    sign_up(Client(), link, time_zone="Europe/Berlin")

    assert User.objects.get(email="nora@example.com").time_zone == "Europe/Berlin"
