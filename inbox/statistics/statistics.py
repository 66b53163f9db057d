"""The record of an agent: what it delivered over some days, what people answered and how soon,
beside the same for as many days before.

It is there to be read. Nothing reads it to let an agent do more.
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
from inbox.agent_figures import Day, days_of, delivered_since, first_day
from inbox.edit_sizes import half_within, newest_edits, shares
from inbox.models import Reading
from wake.models import Delivery, DeliveryQuerySet, Response
from wake.models.deliveries import NOT_ANSWERED_IN_TIME

SPANS = (7, 30, 90)
USUAL = 30

REDIRECTED = Q(status=Delivery.Status.REDIRECTED)
REPLACED_IN_TIME = Q(superseded_at__isnull=False, superseded_at__lte=F("expires_at"))


@dataclass(slots=True)
class Period:
    """`windows` are those that have ended; `half` and `most` are the times in which half and nine
    in ten of the answers came, or None without one. Of the `edits`, `compared` are the newest that
    are not too long, and half of those changed up to `changed` percent; what the `gone` redirects
    changed was erased."""

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
    compared: int = 0
    changed: int | None = None

    @property
    def deliveries(self) -> int:
        return sum(self.delivered.values())

    @property
    def answers(self) -> int:
        return sum(self.answered.values())


@dataclass(frozen=True, slots=True)
class Record:
    """`by_day` are the days of `now`, oldest first."""

    days: int
    now: Period
    before: Period
    by_day: list[Day]


def asked_for(text: str) -> int:
    """How many days, of those that there are."""
    return next((days for days in SPANS if str(days) == text), USUAL)


def record(agent: Agent, *, days: int, at: datetime) -> Record:
    """Six queries. A day is the person's own, and today is the last one."""
    start = first_day(at, count=days)
    now, before = Period(start, at), Period(start - timedelta(days=days), start)
    periods = {True: now, False: before}
    for is_now, kind, count, windows, missed in _deliveries(agent, now, before):
        period = periods[is_now]
        period.delivered[kind] = count
        period.windows += windows
        period.missed += missed
    answered = _answered(agent, now, before)
    for is_now, status, count, unopened, edits, gone in _answers(answered, now):
        period = periods[is_now]
        period.answered[status] = count
        period.unopened += unopened
        period.edits += edits
        period.gone += gone
    for is_now, span in _times(answered, now):  # the shorter one first
        period = periods[is_now]
        period.half = span if period.half is None else period.half
        period.most = span
    _measure(now, answered.filter(answered_at__gte=start))
    _measure(before, answered.filter(answered_at__lt=start))
    return Record(days, now, before, days_of(agent, at=at, count=days))


def _deliveries(agent: Agent, now: Period, before: Period) -> QuerySet[Delivery, Any]:
    """By period and type: how many, whose windows ended, and whose were missed. Index:
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
    """What was answered in either period, whenever it came. Index: answers_of_an_agent; nothing is
    released before it was answered."""
    return (
        Delivery.objects.of_agent(agent, ApiKey.Lane.LIVE)
        .exclude(status=Delivery.Status.PENDING)
        .filter(activity_at__gte=before.start)
        .filter(answered_at__gte=before.start, answered_at__lte=now.end)
    )


def _answers(answered: DeliveryQuerySet, now: Period) -> QuerySet[Delivery, Any]:
    """By period and kind: how many, how many unopened, edits, and redirects that were erased. What
    somebody opened whose account is gone, nobody can say."""
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
        )
        .values_list("is_now", "status", "count", "unopened", "edits", "gone")
    )


def _times(answered: DeliveryQuerySet, now: Period) -> QuerySet[Delivery, Any]:
    """How long half, and nine in ten, of each period's answers took at most: the nearest rank, so
    each is a time that an answer did take."""
    took = ExpressionWrapper(F("answered_at") - F("created_at"), output_field=DurationField())
    ranked = answered.annotate(is_now=_is(Q(answered_at__gte=now.start)), took=took).annotate(
        rank=Window(RowNumber(), partition_by="is_now", order_by="took"),
        of=Window(Count("pk"), partition_by="is_now"),
    )
    half, most = (F("of") + 1) / 2, (F("of") * 9 + 9) / 10
    found = ranked.filter(Q(rank=half) | Q(rank=most)).order_by("is_now", "rank")
    return found.values_list("is_now", "took")


def _measure(period: Period, answered: DeliveryQuerySet) -> None:
    found = shares(newest_edits(answered))
    period.compared, period.changed = len(found), half_within(found)


def _is(condition: Q) -> ExpressionWrapper[Any]:
    return ExpressionWrapper(condition, output_field=BooleanField())
