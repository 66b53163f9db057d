"""For ten minutes, colleagues see who is reading a delivery. Reading locks nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access.viewer import Viewer
from inbox.models import Reading
from inbox.reading.presence import PRESENCE_LASTS, RENEWED_EVERY, begin, readers, renew
from inbox.reading.readings import mark_read
from inbox.reading.updates import mark
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery, MakeRule
from wake.models import Delivery, Response


@pytest.fixture
def delivery(make_rule: MakeRule, make_delivery: MakeDelivery) -> Delivery:
    make_rule("Owners", role="owner", types=["alert"])
    return make_delivery()


def pulse(who: Person, delivery: Delivery) -> None:
    path = f"/deliveries/{delivery.pk}/pulse"
    assert who.get(path, since=mark(timezone.now())).status_code == 204


def end_of(who: Person) -> timedelta:
    until = Reading.objects.get(user=who.user).reading_until
    assert until
    return until - timezone.now()


def test_colleagues_see_who_reads(delivery: Delivery, alices: Person, bobs: Person) -> None:
    assert "Reading this now" not in text_of(bobs.see(delivery))

    assert "Reading this now: bob ." in text_of(alices.see(delivery)).replace("bob.", "bob .")
    assert "bob is reading" in text_of(alices.get("/"))
    assert "bob is reading" not in text_of(bobs.get("/"))


def test_it_ends_after_ten_minutes(delivery: Delivery, alices: Person, bobs: Person) -> None:
    bobs.see(delivery)
    at = timezone.now()

    assert (
        readers(delivery, besides=alices.user, at=at + PRESENCE_LASTS - timedelta(minutes=1))
        == "bob"
    )
    assert readers(delivery, besides=alices.user, at=at + PRESENCE_LASTS) == ""


def test_an_open_page_renews_it_and_writes_every_two_minutes(
    delivery: Delivery, alices: Person, bobs: Person
) -> None:
    bobs.see(delivery)
    at, viewer = timezone.now(), Viewer.of(bobs.user)
    first = Reading.objects.get().reading_until

    renew(delivery, by=bobs.user, at=at + RENEWED_EVERY / 2)
    begin(delivery, viewer, at=at + RENEWED_EVERY / 2)
    assert Reading.objects.get().reading_until == first

    renew(delivery, by=bobs.user, at=at + RENEWED_EVERY * 2)
    assert Reading.objects.get().reading_until == at + RENEWED_EVERY * 2 + PRESENCE_LASTS


def test_the_poll_of_the_page_renews_it(delivery: Delivery, bobs: Person) -> None:
    bobs.see(delivery)
    Reading.objects.update(reading_until=timezone.now() + timedelta(minutes=1))

    pulse(bobs, delivery)

    assert end_of(bobs) > timedelta(minutes=9)


def test_a_poll_begins_none(delivery: Delivery, alices: Person, bobs: Person) -> None:
    bobs.see(delivery)
    bobs.post(delivery, "reading")
    mark_read(delivery, by=bobs.user, at=timezone.now())

    pulse(bobs, delivery)

    assert Reading.objects.get().reading_until is None


def test_readers_are_not_shown(delivery: Delivery, alices: Person, ritas: Person) -> None:
    ritas.see(delivery)

    assert "Reading this now" not in text_of(alices.see(delivery))


def test_it_locks_nothing_and_ends_with_the_answer(
    delivery: Delivery, alices: Person, bobs: Person, answer: Answer
) -> None:
    bobs.see(delivery)

    alices.answer(delivery)

    assert Response.objects.get().by == alices.user
    assert "Reading this now" not in text_of(alices.see(delivery))


def test_a_team_without_rules_shows_no_presence(
    make_delivery: MakeDelivery, alices: Person, bobs: Person
) -> None:
    delivery = make_delivery()
    bobs.see(delivery)

    with CaptureQueriesContext(connection) as captured:
        pulse(bobs, delivery)
        alices.see(delivery)
        alices.get("/")

    assert not [query for query in captured if 'reading_until" >' in query["sql"]]
    assert Reading.objects.filter(reading_until__isnull=False).count() == 0
