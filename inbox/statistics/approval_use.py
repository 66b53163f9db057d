"""Counts what became of an agent's approvals: used, failed, or never used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from accounts.models import Agent, ApiKey, User
from inbox.answering.use import WORDS, answered_by, newest_outcomes, summary_of
from inbox.statistics.figures import QUARTER_SECONDS, Quarter, first_day
from inbox.statistics.stacked_columns import Column, columns
from wake.models import Delivery, DeliveryQuerySet

LABELS = {"used": "Used", "failed": "Failed", "unused": "Never used"}
# An approval that was not used for this long counts as never used.
USED_WITHIN = timedelta(days=1)
MAX_LISTED = 20

FAILED = Q(failure__isnull=False)
USED = Q(response__claim__isnull=False)


@dataclass(slots=True)
class UseCounts:
    """Counts the approvals of one period. A used approval whose action failed counts only as
    failed."""

    used: int = 0
    failed: int = 0
    unused: int = 0

    @property
    def total(self) -> int:
        return self.used + self.failed + self.unused

    def add(self, counts: Iterable[int]) -> None:
        """Adds one count for each of LABELS, in their order."""
        for kind, count in zip(LABELS, counts, strict=True):
            setattr(self, kind, getattr(self, kind) + count)


@dataclass(frozen=True, slots=True)
class ApprovalUse:
    """Compares two periods. `columns` shows the days of `now`; an approval is on the day of its
    answer."""

    now: UseCounts
    before: UseCounts
    columns: list[Column]

    @property
    def is_empty(self) -> bool:
        return not (self.now.total or self.before.total)

    @property
    def legend(self) -> list[tuple[str, str, int]]:
        return [(kind, title, getattr(self.now, kind)) for kind, title in LABELS.items()]

    @property
    def busiest(self) -> int:
        return max(sum(column.counts.values()) for column in self.columns)


@dataclass(frozen=True, slots=True)
class UnusedApproval:
    """Shows an approval that was never used. `answer` is `You approved`. `report` is `done` if the
    agent has reported an outcome without using the approval."""

    delivery: Delivery
    answer: str
    answered_at: datetime
    report: str
    summary: str


def approval_use(agent: Agent, *, days: int, at: datetime) -> ApprovalUse:
    """Counts approvals with one query. Days are in the viewer's time zone. The last day is
    today."""
    start = first_day(at, count=days)
    first, zone = timezone.localtime(start).date(), timezone.get_current_timezone()
    by_day = {first + timedelta(days=n): dict.fromkeys(LABELS, 0) for n in range(days)}
    now, before = UseCounts(), UseCounts()
    for quarter, *counts in _counts(agent, start - timedelta(days=days), at):
        began = datetime.fromtimestamp(quarter * QUARTER_SECONDS, UTC)
        (now if began >= start else before).add(counts)
        if day := by_day.get(began.astimezone(zone).date()):
            for kind, count in zip(LABELS, counts, strict=True):
                day[kind] += count
    return ApprovalUse(now, before, columns(by_day, LABELS, nothing="no approvals"))


def _approved(agent: Agent, start: datetime, end: datetime) -> DeliveryQuerySet:
    """Returns the deliveries that were approved in these days. Index: answers_of_an_agent. The
    index holds the time of the release. An answer is never released before it is given."""
    answered = Delivery.objects.of_agent(agent, ApiKey.Mode.LIVE).exclude(status="pending")
    return answered.filter(
        status__in=Delivery.USABLE,
        activity_at__gte=start,
        answered_at__gte=start,
        answered_at__lte=end,
    )


def _counts(agent: Agent, start: datetime, at: datetime) -> QuerySet[Delivery, Any]:
    is_unused = _never_used(at)
    return (
        _approved(agent, start, at)
        .order_by()
        .annotate(quarter=Quarter("answered_at"))
        .values("quarter")
        .annotate(
            used=Count("pk", filter=USED & ~FAILED),
            failed=Count("pk", filter=FAILED),
            unused=Count("pk", filter=is_unused),
        )
        .values_list("quarter", *LABELS)
    )


def _never_used(at: datetime) -> Q:
    """Selects approvals that the agent could use, because the agent asked for a digest, but that
    were not used within a day."""
    return Q(wants_digest=True, answered_at__lte=at - USED_WITHIN) & ~USED & ~FAILED


def never_used(agent: Agent, user: User, *, days: int, at: datetime) -> list[UnusedApproval]:
    """Returns the newest approvals that were never used, for an owner. Makes two queries, or one if
    there are no such approvals."""
    approved = _approved(agent, first_day(at, count=days), at).with_content()
    rows = approved.filter(_never_used(at)).select_related("response").order_by("-activity_at")
    columns = ("headline", "type", "response__by", "response__by_name", "response__status")
    listed = list(rows.only(*columns, "response__answered_at", "response__delivery")[:MAX_LISTED])
    outcomes = newest_outcomes([delivery.pk for delivery in listed])
    return [
        UnusedApproval(
            delivery,
            answer=answered_by(delivery.response, delivery.type, user),
            answered_at=delivery.response.answered_at,
            report=WORDS[outcome.status].lower() if outcome else "",
            summary=summary_of(outcome) if outcome else "",
        )
        for delivery, outcome in ((row, outcomes.get(row.pk)) for row in listed)
    ]
