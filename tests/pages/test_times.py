"""Times are shown as a person would say them."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from inbox.reading.deadlines import closes_soon, deadline_text, missed_text
from pages.times import amount, midnight, moment, when
from wake.models import Delivery

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 20, 23, 30, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("value", "expected", "as_adverb"),
    [
        (NOW, "23:30", "at 23:30"),
        (NOW.replace(hour=0, minute=0), "00:00", "at 00:00"),
        (NOW + timedelta(hours=1), "tomorrow 00:30", "tomorrow at 00:30"),
        (NOW - timedelta(days=1), "yesterday 23:30", "yesterday at 23:30"),
        (NOW - timedelta(days=2), "18 Nov 23:30", "on 18 Nov at 23:30"),
        (NOW + timedelta(days=2), "22 Nov 23:30", "on 22 Nov at 23:30"),
        (NOW.replace(year=2025), "20 Nov 2025 23:30", "on 20 Nov 2025 at 23:30"),
    ],
)
def test_a_time_is_shown_in_the_persons_own_day(
    value: datetime, expected: str, as_adverb: str
) -> None:
    with timezone.override(BERLIN):
        assert moment(value, now=NOW) == expected
        assert when(value, now=NOW) == as_adverb


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"),
        (31, "31 s"),
        (40, "40 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (89, "1 min"),
        (91, "2 min"),
        (38 * 60, "38 min"),
        (59.6 * 60, "1 h"),
        (130 * 60, "2 h 10 min"),
        (47 * 3600, "47 h"),
        (72 * 3600, "3 days"),
    ],
)
def test_an_amount_is_rounded_to_its_unit(seconds: float, expected: str) -> None:
    assert amount(timedelta(seconds=seconds)) == expected


def test_the_same_time_is_another_day_elsewhere() -> None:
    late = NOW + timedelta(hours=1)

    with timezone.override(ZoneInfo("UTC")):
        assert moment(late, now=NOW) == "23:30"


def test_a_day_begins_at_the_persons_own_midnight() -> None:
    with timezone.override(BERLIN):
        assert midnight(NOW) == datetime(2026, 11, 20, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("on_timeout", "before", "after", "in_full"),
    [
        (
            "",
            "goes ahead without you at 23:45",
            "expired at 23:45",
            "Deadline passed at 23:45. The agent may have gone ahead.",
        ),
        (
            "abort",
            "stops at 23:45 unless you answer",
            "expired at 23:45",
            "Deadline passed at 23:45. The agent planned to stop.",
        ),
        (
            "hold",
            "waiting for you; due 23:45",
            "waiting for you since 23:45",
            "Deadline passed at 23:45. The agent keeps waiting for you.",
        ),
    ],
)
def test_a_deadline_says_what_happens_if_no_one_answers(
    on_timeout: str, before: str, after: str, in_full: str
) -> None:
    ends = NOW + timedelta(minutes=15)
    delivery = Delivery(expires_at=ends, on_timeout=on_timeout)

    with timezone.override(BERLIN):
        assert (deadline_text(delivery, NOW), missed_text(delivery, NOW)) == (before, "")
        assert (deadline_text(delivery, ends), missed_text(delivery, ends)) == (after, in_full)


def test_a_deadline_is_close_in_its_last_hour_only() -> None:
    delivery = Delivery(expires_at=NOW)

    soon = [closes_soon(delivery, NOW - timedelta(minutes=before)) for before in (61, 59, 1, 0, -1)]

    assert soon == [False, True, True, False, False]
    assert not closes_soon(Delivery(), NOW)
    assert deadline_text(Delivery(), NOW) == ""
