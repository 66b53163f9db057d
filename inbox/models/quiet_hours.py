"""Defines quiet hours: the times in which a person, or a team's channel, is sent nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo

from django.db import models
from django.db.models import Q

from pages.local_time import instant

DAY = timedelta(days=1)
# Weekdays as digits, Monday is 0, like date.weekday().
EVERY_DAY = "0123456"
BOTH_ENDS_OR_NONE = Q(quiet_from__isnull=True, quiet_until__isnull=True) | Q(
    quiet_from__isnull=False, quiet_until__isnull=False
)


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Holds the times of the day between which nothing is sent. Quiet hours belong to the day on
    which they begin, and may end on the next day. Equal times mean 24 hours."""

    start: time
    end: time
    days: str = EVERY_DAY

    @property
    def never_end(self) -> bool:
        return self.start == self.end and set(self.days) == set(EVERY_DAY)

    def end_after(self, at: datetime, zone: tzinfo) -> datetime | None:
        """Returns when the quiet hours around `at` end. Returns `at` itself if `at` is not in quiet
        hours. Returns None if the quiet hours never end."""
        for _ in range(8):  # quiet hours may continue on the next day, for at most a week
            end = self._end_around(at, zone)
            if end is None:
                return at
            at = end
        return None

    def _end_around(self, at: datetime, zone: tzinfo) -> datetime | None:
        today = at.astimezone(zone).date()
        for day in (today - DAY, today):
            begins = instant(day, self.start, zone)
            ends = instant(day if self.start < self.end else day + DAY, self.end, zone)
            if str(day.weekday()) in self.days and begins <= at < ends:
                return ends
        return None


class HasQuietHours(models.Model):
    """Stores quiet hours in three columns. If the columns are null, there are no quiet hours."""

    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    quiet_days = models.CharField(max_length=7, default=EVERY_DAY, db_default=EVERY_DAY)

    class Meta:
        abstract = True

    @property
    def quiet_hours(self) -> QuietHours | None:
        if self.quiet_from is None or self.quiet_until is None:
            return None
        return QuietHours(self.quiet_from, self.quiet_until, self.quiet_days)

    @quiet_hours.setter
    def quiet_hours(self, hours: QuietHours | None) -> None:
        self.quiet_from = hours.start if hours else None
        self.quiet_until = hours.end if hours else None
        self.quiet_days = hours.days if hours else EVERY_DAY

    def after_quiet_hours(self, at: datetime, zone: tzinfo) -> datetime | None:
        """Returns when something may be sent: `at`, or the end of the quiet hours around it.
        Returns None if the quiet hours never end."""
        return self.quiet_hours.end_after(at, zone) if self.quiet_hours else at
