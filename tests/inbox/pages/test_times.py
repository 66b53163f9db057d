"""Times as a person would say them."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from inbox.moments import amount, midnight, moment, when
from inbox.windows import closes_soon, passed, window
from wake.models import Delivery

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 20, 23, 30, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("value", "said", "as_adverb"),
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
def test_a_moment_is_said_in_the_persons_own_day(
    value: datetime, said: str, as_adverb: str
) -> None:
    with timezone.override(BERLIN):
        assert moment(value, now=NOW) == said
        assert when(value, now=NOW) == as_adverb


@pytest.mark.parametrize(
    ("seconds", "said"),
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
def test_an_amount_is_rounded_to_what_it_is_said_in(seconds: float, said: str) -> None:
    assert amount(timedelta(seconds=seconds)) == said


def test_the_same_moment_is_another_day_elsewhere() -> None:
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
            "continues on its own at 23:45",
            "window passed at 23:45",
            "The agent was free to continue at 23:45.",
        ),
        (
            "abort",
            "stops at 23:45 unless you answer",
            "window passed at 23:45",
            "The agent was to stop at 23:45.",
        ),
        (
            "hold",
            "waits for you; asked for an answer by 23:45",
            "waits for you since 23:45",
            "The agent asked for an answer by 23:45 and waits for you.",
        ),
    ],
)
def test_a_window_says_what_happens_if_nobody_answers(
    on_timeout: str, before: str, after: str, in_full: str
) -> None:
    ends = NOW + timedelta(minutes=15)
    delivery = Delivery(expires_at=ends, on_timeout=on_timeout)

    with timezone.override(BERLIN):
        assert (window(delivery, NOW), passed(delivery, NOW)) == (before, "")
        assert (window(delivery, ends), passed(delivery, ends)) == (after, in_full)


def test_a_window_closes_soon_in_its_last_hour_only() -> None:
    delivery = Delivery(expires_at=NOW)

    soon = [closes_soon(delivery, NOW - timedelta(minutes=before)) for before in (61, 59, 1, 0, -1)]

    assert soon == [False, True, True, False, False]
    assert not closes_soon(Delivery(), NOW)
    assert window(Delivery(), NOW) == ""
