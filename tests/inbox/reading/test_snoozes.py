"""A delivery is snoozed for one person, and never past its deadline."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from inbox.reading import snoozes
from inbox.reading.snoozes import NotLater, NotWaiting
from tests.inbox.notifications.times import utc
from tests.types import MakeDelivery
from wake.models import Delivery

NOON = utc("2026-11-02 11:00")  # 12:00 in Berlin
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def berlin(bob: User) -> User:
    bob.time_zone = "Europe/Berlin"
    bob.save(update_fields=["time_zone"])
    return bob


def _inbox(user: User, at: object = NOON) -> set[str]:
    waiting = Delivery.objects.for_person(user).awaiting_response()
    return {row.headline for row in snoozes.without_snoozed(waiting, user, at=at)}  # type: ignore[arg-type]


def test_the_choices_are_an_hour_this_afternoon_and_tomorrow_at_nine(
    berlin: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(at=NOON)

    offered = snoozes.choices(delivery, by=berlin, at=NOON)

    assert [(choice.name, choice.until) for choice in offered] == [
        ("hour", NOON + HOUR),
        ("afternoon", utc("2026-11-02 14:00")),
        ("tomorrow", utc("2026-11-03 08:00")),
    ]


def test_this_afternoon_is_not_offered_in_the_afternoon(
    berlin: User, make_delivery: MakeDelivery
) -> None:
    at_three = utc("2026-11-02 14:00")

    offered = snoozes.choices(make_delivery(at=NOON), by=berlin, at=at_three)

    assert [choice.name for choice in offered] == ["hour", "tomorrow"]
    with pytest.raises(NotLater):
        snoozes.chosen("afternoon", by=berlin, at=at_three)


def test_tomorrow_is_nine_in_the_persons_time_zone_over_a_clock_change(
    berlin: User, alice: User
) -> None:
    saturday = utc("2026-10-24 20:00")

    assert snoozes.chosen("tomorrow", by=berlin, at=saturday) == utc("2026-10-25 08:00")
    assert snoozes.chosen("tomorrow", by=alice, at=saturday) == utc("2026-10-25 09:00")


def test_late_in_the_evening_tomorrow_is_the_persons_next_day(bob: User) -> None:
    bob.time_zone = "Pacific/Auckland"
    already_tuesday_there = utc("2026-11-02 12:00")

    assert snoozes.chosen("tomorrow", by=bob, at=already_tuesday_there) == utc("2026-11-03 20:00")


def test_an_unknown_choice_is_refused(bob: User) -> None:
    with pytest.raises(NotLater):
        snoozes.chosen("next year", by=bob, at=NOON)


def test_it_comes_back_a_quarter_of_an_hour_before_its_deadline(
    bob: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(at=NOON, timeout_seconds=7200)

    row = snoozes.snooze(delivery, by=bob, until=NOON + 24 * HOUR, at=NOON)

    assert row.until == NOON + 105 * MINUTE
    assert snoozes.confirmation(row, at=NOON) == (
        "Back at 12:45. Its deadline is at 13:00, so it comes back before that."
    )


def test_a_close_deadline_leaves_one_choice_at_half_of_its_time(
    bob: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(at=NOON, timeout_seconds=600)

    offered = snoozes.choices(delivery, by=bob, at=NOON)

    assert [(each.name, each.until, each.is_shortened) for each in offered] == [
        ("hour", NOON + 5 * MINUTE, True)
    ]


def test_after_the_deadline_the_snooze_is_not_shortened(
    bob: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(at=NOON, timeout_seconds=600)
    after_it = NOON + HOUR

    row = snoozes.snooze(delivery, by=bob, until=after_it + HOUR, at=after_it)

    assert row.until == after_it + HOUR
    assert snoozes.confirmation(row, at=after_it) == "Back at 13:00."


def test_a_delivery_is_snoozed_for_one_person_only(
    alice: User, bob: User, make_delivery: MakeDelivery
) -> None:
    snoozes.snooze(make_delivery(headline="Snoozed"), by=bob, until=NOON + HOUR, at=NOON)
    make_delivery(headline="Stays")

    assert _inbox(bob) == {"Stays"}
    assert _inbox(alice) == {"Stays", "Snoozed"}
    assert _inbox(bob, at=NOON + HOUR) == {"Stays", "Snoozed"}


def test_snoozing_again_changes_the_time_and_unsnoozing_shows_it(
    bob: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(headline="Snoozed")

    snoozes.snooze(delivery, by=bob, until=NOON + HOUR, at=NOON)
    snoozes.snooze(delivery, by=bob, until=NOON + 2 * HOUR, at=NOON)

    assert [row.until for row in snoozes.snoozed(bob, at=NOON)] == [NOON + 2 * HOUR]
    snoozes.unsnooze(delivery, by=bob)
    assert _inbox(bob) == {"Snoozed"}
    assert snoozes.snoozed(bob, at=NOON) == []


def test_a_time_that_has_passed_is_refused(bob: User, make_delivery: MakeDelivery) -> None:
    with pytest.raises(NotLater):
        snoozes.snooze(make_delivery(), by=bob, until=NOON, at=NOON)


def test_a_delivery_that_was_answered_meanwhile_is_not_snoozed(
    bob: User, make_delivery: MakeDelivery, answer: Callable[..., object]
) -> None:
    delivery = make_delivery()
    answer(delivery)

    with pytest.raises(NotWaiting):
        snoozes.snooze(delivery, by=bob, until=NOON + HOUR, at=NOON)


def test_the_snoozed_list_shows_only_open_deliveries_of_a_members_teams(
    bob: User, make_delivery: MakeDelivery, answer: Callable[..., object]
) -> None:
    waits, answered = make_delivery(headline="Waits"), make_delivery(headline="Answered")
    for delivery in (waits, answered):
        snoozes.snooze(delivery, by=bob, until=NOON + HOUR, at=NOON)
    answer(answered)

    assert [row.delivery.headline for row in snoozes.snoozed(bob, at=NOON)] == ["Waits"]
    bob.memberships.all().delete()
    assert snoozes.snoozed(bob, at=NOON) == []


def test_snoozed_deliveries_are_hidden_in_the_same_query(
    bob: User, make_delivery: MakeDelivery
) -> None:
    snoozes.snooze(make_delivery(), by=bob, until=NOON + HOUR, at=NOON)

    with CaptureQueriesContext(
        connection,
    ) as queries:
        _inbox(bob)

    assert len(queries) == 1


def test_snoozed_deliveries_are_read_from_their_index(bob: User) -> None:
    rows = snoozes.without_snoozed(Delivery.objects.all(), bob, at=NOON)

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET enable_seqscan = off")
        plan = rows.explain()
        if connection.vendor == "postgresql":
            cursor.execute("RESET enable_seqscan")

    assert "snoozed_now" in plan
