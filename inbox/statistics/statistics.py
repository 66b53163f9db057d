"""Computes an agent's statistics over some days, and over the same number of days before.

The statistics are for people to read. No code uses the statistics to give an agent more rights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    BooleanField,
    Count,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Window,
)
from django.db.models.functions import RowNumber

from accounts.models import Agent, ApiKey
from inbox.models import Reading
from inbox.statistics.edit_sizes import half_within, newest_edits, shares
from inbox.statistics.figures import Day, days_of, delivered_since, first_day
from wake.models import Delivery, DeliveryQuerySet, Response
from wake.models.deliveries import NOT_ANSWERED_IN_TIME

SPANS = (7, 30, 90)
USUAL = 30

REDIRECTED = Q(status=Delivery.Status.REDIRECTED)
REPLACED_IN_TIME = Q(superseded_at__isnull=False, superseded_at__lte=F("expires_at"))


@dataclass(slots=True)
class Period:
    """Holds the figures of one period. `windows` counts deadlines that have passed. Half of
    people's answers came within `half`, nine in ten within `most`. Rules gave `by_rules` of the
    answers.

    Only the newest `compared` of the `edits` were measured. Half of the measured edits changed up
    to `changed` percent. `gone` counts redirects whose content was erased.
    """

    start: datetime
    end: datetime
    delivered: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Delivery.Type, 0))
    windows: int = 0
    missed: int = 0
    answered: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Response.Status, 0))
    half: timedelta | None = None
    most: timedelta | None = None
    unopened: int = 0
    edits: int = 0
    gone: int = 0
    by_rules: int = 0
    compared: int = 0
    changed: int | None = None

    @property
    def deliveries(self) -> int:
        return sum(self.delivered.values())

    @property
    def answers(self) -> int:
        return sum(self.answered.values())

    @property
    def by_people(self) -> int:
        return self.answers - self.by_rules


@dataclass(frozen=True, slots=True)
class Statistics:
    """Compares two periods. `by_day` are the days of `now`, oldest first."""

    days: int
    now: Period
    before: Period
    by_day: list[Day]


def days_asked_for(text: str) -> int:
    """Returns the number of days in the text, if it is one of SPANS."""
    return next((days for days in SPANS if str(days) == text), USUAL)


def statistics_of(agent: Agent, *, days: int, at: datetime) -> Statistics:
    """Computes the statistics with six queries. Days are in the person's time zone, and today is
    the last one."""
    start = first_day(at, count=days)
    now, before = Period(start, at), Period(start - timedelta(days=days), start)
    periods = {True: now, False: before}
    for is_now, kind, count, windows, missed in _deliveries(agent, now, before):
        period = periods[is_now]
        period.delivered[kind] = count
        period.windows += windows
        period.missed += missed
    answered = _answered(agent, now, before)
    for is_now, status, count, unopened, edits, gone, by_rules in _answers(answered, now):
        period = periods[is_now]
        period.answered[status] = count
        period.unopened += unopened
        period.edits += edits
        period.gone += gone
        period.by_rules += by_rules
    for is_now, span in _times(answered, now):  # the shorter period comes first
        period = periods[is_now]
        period.half = span if period.half is None else period.half
        period.most = span
    _measure(now, answered.filter(answered_at__gte=start))
    _measure(before, answered.filter(answered_at__lt=start))
    return Statistics(days, now, before, days_of(agent, at=at, count=days))


def _deliveries(agent: Agent, now: Period, before: Period) -> QuerySet[Delivery, Any]:
    """Counts deliveries, passed deadlines and missed deadlines by period and type. Index:
    cursor_of_an_agent."""
    ended = Q(expires_at__lte=now.end)
    return (
        delivered_since(before.start)
        .filter(agent=agent, created_at__lte=now.end)
        .order_by()
        .annotate(is_now=_is(Q(created_at__gte=now.start)))
        .values("is_now", "type")
        .annotate(
            count=Count("pk"),
            windows=Count("pk", filter=ended),
            missed=Count("pk", filter=ended & NOT_ANSWERED_IN_TIME & ~REPLACED_IN_TIME),
        )
        .values_list("is_now", "type", "count", "windows", "missed")
    )


def _answered(agent: Agent, now: Period, before: Period) -> DeliveryQuerySet:
    """Returns the deliveries that were answered in either period, regardless of their age. The
    filter on `activity_at` uses the index answers_of_an_agent. It leaves out no answer, because an
    answer is never released before it is given."""
    return (
        Delivery.objects.of_agent(agent, ApiKey.Mode.LIVE)
        .exclude(status=Delivery.Status.PENDING)
        .filter(activity_at__gte=before.start)
        .filter(answered_at__gte=before.start, answered_at__lte=now.end)
    )


def _answers(answered: DeliveryQuerySet, now: Period) -> QuerySet[Delivery, Any]:
    """Counts answers, answers without opening the delivery, edits, erased redirects and answers of
    rules, by period and status. A deleted account's answers never count as unopened, because its
    readings are gone."""
    opened = Reading.objects.filter(user=OuterRef("response__by"), delivery=OuterRef("pk"))
    return (
        answered.order_by()
        .annotate(is_now=_is(Q(answered_at__gte=now.start)), is_opened=Exists(opened))
        .values("is_now", "status")
        .annotate(
            count=Count("pk"),
            unopened=Count("pk", filter=Q(is_opened=False, response__by__isnull=False)),
            edits=Count("pk", filter=Q(response__edited_json__isnull=False)),
            gone=Count("pk", filter=REDIRECTED & Q(erased_at__isnull=False)),
            by_rules=Count("pk", filter=Q(response__rule_version__isnull=False)),
        )
        .values_list("is_now", "status", "count", "unopened", "edits", "gone", "by_rules")
    )


def _times(answered: DeliveryQuerySet, now: Period) -> QuerySet[Delivery, Any]:
    """Returns the times within which half, and nine in ten, of people's answers came in each
    period. The percentiles use the nearest rank, so each time belongs to a real answer."""
    answered = answered.filter(response__rule_version__isnull=True)
    took = ExpressionWrapper(F("answered_at") - F("created_at"), output_field=DurationField())
    ranked = answered.annotate(is_now=_is(Q(answered_at__gte=now.start)), took=took).annotate(
        rank=Window(RowNumber(), partition_by="is_now", order_by="took"),
        of=Window(Count("pk"), partition_by="is_now"),
    )
    half, most = (F("of") + 1) / 2, (F("of") * 9 + 9) / 10
    times = ranked.filter(Q(rank=half) | Q(rank=most)).order_by("is_now", "rank")
    return times.values_list("is_now", "took")


def _measure(period: Period, answered: DeliveryQuerySet) -> None:
    changed_shares = shares(newest_edits(answered))
    period.compared, period.changed = len(changed_shares), half_within(changed_shares)


def _is(condition: Q) -> ExpressionWrapper[Any]:
    return ExpressionWrapper(condition, output_field=BooleanField())
