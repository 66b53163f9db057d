"""A digest is due by the clock of the person's time zone, and never in the person's quiet hours."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from accounts.models import User
from inbox.models import NotificationRule, Preferences, QuietHours
from inbox.preferences.digest_times import next_digest
from pages.local_time import zone_of
from tests.inbox.notifications.times import utc

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
SAT_SUN = "56"


def due(after: str, zone: ZoneInfo = BERLIN, **fields: Any) -> datetime | None:
    return next_digest(Preferences(**fields), zone, after=utc(after))


def test_the_usual_digest_is_at_nine_on_the_persons_own_clock() -> None:
    preferences = Preferences()

    assert next_digest(preferences, BERLIN, after=utc("2026-11-02 07:00")) == utc(
        "2026-11-02 08:00"
    )
    assert next_digest(preferences, NEW_YORK, after=utc("2026-11-02 07:00")) == utc(
        "2026-11-02 14:00"
    )
    assert next_digest(preferences, KATHMANDU, after=utc("2026-11-02 07:00")) == utc(
        "2026-11-03 03:15"
    )


def test_the_next_one_is_later_than_the_one_that_was_just_sent() -> None:
    assert due("2026-11-02 08:00") == utc("2026-11-03 08:00")


def test_a_digest_at_nine_stays_at_nine_when_the_clocks_go_back() -> None:
    # Berlin: 25 October 2026, 03:00 becomes 02:00.
    assert due("2026-10-24 07:00") == utc("2026-10-25 08:00")
    assert due("2026-10-23 07:00") == utc("2026-10-24 07:00")


def test_a_digest_at_nine_stays_at_nine_when_the_clocks_go_forward() -> None:
    # New York: 8 March 2026, 02:00 becomes 03:00.
    assert due("2026-03-07 14:00", NEW_YORK) == utc("2026-03-08 13:00")


def test_a_time_that_is_skipped_in_spring_is_an_hour_later_once() -> None:
    half_past_two = time(2, 30)

    on_the_day = due("2026-03-29 00:00", digest_at=half_past_two)
    the_day_after = due("2026-03-29 01:30", digest_at=half_past_two)

    assert on_the_day == utc("2026-03-29 01:30")  # 03:30 on the clock
    assert the_day_after == utc("2026-03-30 00:30")


def test_a_time_that_comes_twice_in_autumn_is_due_once() -> None:
    half_past_two = time(2, 30)

    first = due("2026-10-24 23:00", digest_at=half_past_two)
    next_one = due("2026-10-25 00:30", digest_at=half_past_two)

    assert first == utc("2026-10-25 00:30")
    assert next_one == utc("2026-10-26 01:30")


def test_weekly_is_on_the_chosen_weekdays() -> None:
    monday_and_thursday: dict[str, Any] = {"digest": "weekly", "digest_days": "03"}

    assert due("2026-11-02 08:00", **monday_and_thursday) == utc("2026-11-05 08:00")
    assert due("2026-11-05 08:00", **monday_and_thursday) == utc("2026-11-09 08:00")
    assert due("2026-11-02 08:00", digest="weekly", digest_days="0") == utc("2026-11-09 08:00")


def test_the_weekday_is_the_persons_own() -> None:
    auckland = ZoneInfo("Pacific/Auckland")  # Monday at nine in Auckland is Sunday evening in UTC

    assert due("2026-11-01 00:00", auckland, digest="weekly", digest_days="0") == utc(
        "2026-11-01 20:00"
    )


def test_every_few_hours_counts_from_the_chosen_time() -> None:
    every_four: dict[str, Any] = {"digest": "hours", "digest_hours": 4, "digest_at": time(9, 30)}

    assert due("2026-11-02 08:30", **every_four) == utc("2026-11-02 12:30")
    assert due("2026-11-02 20:30", **every_four) == utc("2026-11-03 00:30")
    assert due("2026-11-03 00:30", **every_four) == utc("2026-11-03 04:30")


def test_a_digest_set_to_never_has_no_due_time() -> None:
    assert due("2026-11-02 08:00", digest="never") is None


def test_digests_in_quiet_hours_are_sent_once_afterwards() -> None:
    night: dict[str, Any] = {"quiet_from": time(22), "quiet_until": time(7)}
    every_two: dict[str, Any] = {"digest": "hours", "digest_hours": 2, "digest_at": time(9)}

    assert due("2026-11-02 18:00", **every_two) == utc("2026-11-02 20:00")
    assert due("2026-11-02 20:30", **every_two, **night) == utc("2026-11-03 06:00")
    assert due("2026-11-03 06:00", **every_two, **night) == utc("2026-11-03 08:00")


def test_a_quiet_weekend_lasts_until_monday() -> None:
    weekend: dict[str, Any] = {"quiet_from": time(0), "quiet_until": time(0), "quiet_days": SAT_SUN}

    assert due("2026-11-06 09:00", **weekend) == utc("2026-11-08 23:00")  # Monday, 00:00 in Berlin


def test_a_quiet_night_belongs_to_the_day_on_which_it_begins() -> None:
    friday_night = Preferences(quiet_from=time(22), quiet_until=time(7), quiet_days="4")

    saturday_at_six = utc("2026-11-07 05:00")
    sunday_at_six = utc("2026-11-08 05:00")

    assert friday_night.after_quiet_hours(saturday_at_six, BERLIN) == utc("2026-11-07 06:00")
    assert friday_night.after_quiet_hours(sunday_at_six, BERLIN) == sunday_at_six


def test_quiet_hours_end_at_their_time_on_the_clock_in_the_night_of_the_change() -> None:
    night = Preferences(quiet_from=time(22), quiet_until=time(7))

    autumn = night.after_quiet_hours(utc("2026-10-24 21:00"), BERLIN)
    spring = night.after_quiet_hours(utc("2026-03-28 22:00"), BERLIN)

    assert autumn == utc("2026-10-25 06:00")  # ten hours of quiet
    assert spring == utc("2026-03-29 05:00")  # eight hours of quiet


def test_the_end_of_quiet_hours_is_not_quiet_and_their_beginning_is() -> None:
    night = Preferences(quiet_from=time(22), quiet_until=time(7))

    seven, ten = utc("2026-11-03 06:00"), utc("2026-11-03 21:00")

    assert night.after_quiet_hours(seven, BERLIN) == seven
    assert night.after_quiet_hours(ten, BERLIN) == utc("2026-11-04 06:00")


def test_endless_quiet_hours_have_no_due_time() -> None:
    always = Preferences(quiet_from=time(5), quiet_until=time(5))

    assert always.after_quiet_hours(utc("2026-11-03 06:00"), BERLIN) is None
    assert next_digest(always, BERLIN, after=utc("2026-11-03 06:00")) is None


@pytest.mark.parametrize("kind", [Preferences, NotificationRule])
def test_people_and_channels_have_the_same_quiet_hours(
    kind: type[Preferences] | type[NotificationRule],
) -> None:
    row = kind()
    assert row.quiet_hours is None

    row.quiet_hours = QuietHours(time(22), time(7), "04")
    assert (row.quiet_from, row.quiet_until, row.quiet_days) == (time(22), time(7), "04")
    assert row.quiet_hours == QuietHours(time(22), time(7), "04")

    row.quiet_hours = None
    assert (row.quiet_from, row.quiet_until, row.quiet_days) == (None, None, "0123456")


@pytest.mark.parametrize(
    ("hours", "never_end"),
    [
        (QuietHours(time(5), time(5)), True),
        (QuietHours(time(5), time(5), SAT_SUN), False),
        (QuietHours(time(5), time(4)), False),
    ],
)
def test_only_whole_days_of_a_whole_week_never_end(hours: QuietHours, never_end: bool) -> None:
    assert hours.never_end is never_end
    assert (hours.end_after(utc("2026-11-07 06:00"), BERLIN) is None) is never_end


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../../etc/passwd", "Europe"])
def test_an_unknown_time_zone_is_utc(name: str) -> None:
    assert zone_of(User(time_zone=name)).utcoffset(None) == zone_of(User()).utcoffset(None)
