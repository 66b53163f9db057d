"""Formats times for people, in their own time zone."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

DAYS = {-1: "yesterday ", 0: "", 1: "tomorrow "}


def moment(value: datetime, *, now: datetime) -> str:
    """Returns `11:42`, `yesterday 11:42`, `3 Nov 11:42` or `3 Nov 2025 11:42`."""
    return in_short(timezone.localtime(value), now=now)


def in_short(local: datetime, *, now: datetime) -> str:
    """Returns the short form of a time in the person's time zone."""
    today = now.astimezone(local.tzinfo).date()
    day = DAYS.get((local.date() - today).days)
    if day is None:
        year = "" if local.year == today.year else f" {local.year}"
        day = f"{local.day} {local:%b}{year} "
    return f"{day}{local:%H:%M}"


def when(value: datetime, *, now: datetime) -> str:
    """Returns the same as an adverb: `at 11:42`, `tomorrow at 11:42`, `on 3 Nov at 11:42`."""
    *day, clock = moment(value, now=now).rsplit(" ", 1)
    on = "on " if day and day[0][:1].isdigit() else ""
    return f"{on}{' '.join([*day, 'at', clock])}"


def in_full(local: datetime) -> str:
    """Returns a time in the person's time zone as `Tuesday 3 November 2026, 11:42:05 CET`."""
    return f"{local:%A} {local.day} {local:%B %Y, %H:%M:%S %Z}"


def midnight(now: datetime) -> datetime:
    """Returns when the person's day began."""
    return timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)


def amount(span: timedelta) -> str:
    """Returns `40 s`, `38 min`, `2 h 10 min` or `3 days`."""
    seconds = round(span.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{round(hours / 24)} days"
