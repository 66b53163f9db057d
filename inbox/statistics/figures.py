"""Counts an agent's deliveries in the last thirty days, and their answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, Func, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from accounts.models import Agent, ApiKey
from inbox.models import Reading
from pages.times import midnight
from wake.models import Delivery

DAYS = 30
ANSWERS_LOOKED_AT = 2_000
QUARTER_SECONDS = 900
# A flood is at least FLOOD_AT_LEAST deliveries today, and FLOOD_TIMES as many as on the agent's
# busiest earlier day.
FLOOD_AT_LEAST = 50
FLOOD_TIMES = 5
FIGURES = ("delivered", "approved", "redirected", "rejected", "continued")

APPROVED = Q(status=Delivery.Status.APPROVED)
REDIRECTED = Q(status=Delivery.Status.REDIRECTED)
REJECTED = Q(status=Delivery.Status.REJECTED)
# An agent that did not set on_timeout was free to continue.
CONTINUED = Q(timed_out_at__isnull=False, on_timeout__in=["", Delivery.OnTimeout.PROCEED])


@dataclass(frozen=True, slots=True)
class Outline:
    """Shows one line of the list of agents."""

    approved: int = 0
    redirected: int = 0
    rejected: int = 0

    @property
    def answered(self) -> int:
        return self.approved + self.redirected + self.rejected


@dataclass(slots=True)
class Day:
    date: date
    delivered: int = 0
    approved: int = 0
    redirected: int = 0
    rejected: int = 0
    continued: int = 0

    def add(self, counts: Iterable[int]) -> None:
        """Adds one count for each of FIGURES, in their order."""
        for name, count in zip(FIGURES, counts, strict=True):
            setattr(self, name, getattr(self, name) + count)


@dataclass(frozen=True, slots=True)
class Answers:
    """Holds the newest answers; `took` is the median response time."""

    count: int = 0
    took: timedelta | None = None
    unopened: int = 0


@dataclass(frozen=True, slots=True)
class Figures:
    """Holds an agent's figures. `days` are oldest first; `totals` is their sum, with the date of
    the first day."""

    days: list[Day]
    totals: Day
    answers: Answers

    @property
    def summary(self) -> str:
        """Returns `1 delivery`."""
        count = self.totals.delivered
        return f"{count} {'delivery' if count == 1 else 'deliveries'}"

    @property
    def busiest(self) -> int:
        return max(day.delivered for day in self.days)

    @property
    def is_flood(self) -> bool:
        """Returns whether the agent delivered far more today than on any day before; never on its
        first day."""
        *before, today = (day.delivered for day in self.days)
        return today >= FLOOD_AT_LEAST and today >= FLOOD_TIMES * max(before) > 0


def outlines(agents: Iterable[Agent], *, at: datetime) -> dict[UUID, Outline]:
    """Returns the answers of the last thirty days for each agent. Makes one query."""
    rows = (
        delivered_since(first_day(at))
        .filter(agent__in=[agent.pk for agent in agents])
        .order_by()
        .values("agent_id")
        .annotate(
            approved=Count("pk", filter=APPROVED),
            redirected=Count("pk", filter=REDIRECTED),
            rejected=Count("pk", filter=REJECTED),
        )
        .values_list("agent_id", "approved", "redirected", "rejected")
    )
    return {agent: Outline(*counts) for agent, *counts in rows}


def figures(agent: Agent, *, at: datetime) -> Figures:
    """Computes the figures with two queries."""
    days = days_of(agent, at=at)
    sums = {name: sum(getattr(day, name) for day in days) for name in FIGURES}
    return Figures(days, Day(days[0].date, **sums), _answers(agent, at))


def first_day(at: datetime, *, count: int = DAYS) -> datetime:
    """Returns when the first of `count` days began in the person's time zone. Today is the last
    one."""
    return midnight(at) - timedelta(days=count - 1)


def with_provider(agents: QuerySet[Agent]) -> QuerySet[Agent]:
    """Adds the `provider` of the newest delivery. Index: cursor_of_an_agent."""
    newest = Delivery.objects.of_agent(OuterRef("pk"), ApiKey.Mode.LIVE).order_by("-activity_at")
    return agents.annotate(provider=Subquery(newest.values("provider")[:1]))


def days_of(agent: Agent, *, at: datetime, count: int = DAYS) -> list[Day]:
    """Returns the days, oldest first. The database counts by quarters of an hour, because the
    offset of every time zone from UTC is in whole quarters. So a local day is a sum of quarters."""
    start = first_day(at, count=count)
    rows = (
        delivered_since(start)
        .filter(agent=agent)
        .order_by()
        .annotate(quarter=Quarter("created_at"))
        .values("quarter")
        .annotate(
            delivered=Count("pk"),
            approved=Count("pk", filter=APPROVED),
            redirected=Count("pk", filter=REDIRECTED),
            rejected=Count("pk", filter=REJECTED),
            continued=Count("pk", filter=CONTINUED),
        )
        .values_list("quarter", *FIGURES)
    )
    zone = timezone.get_current_timezone()
    first = timezone.localtime(start).date()
    days = {each: Day(each) for each in (first + timedelta(days=n) for n in range(count))}
    for quarter, *counts in rows:
        began = datetime.fromtimestamp(quarter * QUARTER_SECONDS, UTC).astimezone(zone)
        day = days.get(began.date())  # None if the day has ended in the meantime
        if day is not None:
            day.add(counts)
    return list(days.values())


def _answers(agent: Agent, at: datetime) -> Answers:
    """Returns people's newest answers. Index: answers_of_an_agent."""
    opened = Reading.objects.filter(user=OuterRef("response__by"), delivery=OuterRef("pk"))
    rows = (
        Delivery.objects.of_agent(agent, ApiKey.Mode.LIVE)
        .exclude(status=Delivery.Status.PENDING)
        .filter(activity_at__gte=first_day(at), response__rule_version__isnull=True)
        .order_by("-activity_at")
        .annotate(is_opened=Exists(opened))
        .values_list("created_at", "answered_at", "is_opened")
    )
    answers = list(rows[:ANSWERS_LOOKED_AT])
    if not answers:
        return Answers()
    took = [(answered - created).total_seconds() for created, answered, _ in answers if answered]
    return Answers(
        count=len(answers),
        took=timedelta(seconds=median(took)),
        unopened=sum(not is_opened for *_, is_opened in answers),
    )


def delivered_since(start: datetime) -> QuerySet[Delivery, Any]:
    """Returns the deliveries since `start`. Index: cursor_of_an_agent, because the last activity is
    never before the delivery."""
    rows = Delivery.objects.filter(mode=ApiKey.Mode.LIVE)
    return rows.filter(activity_at__gte=start, created_at__gte=start)


class Quarter(Func):
    """Counts quarters of an hour since 1970."""

    output_field = IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = f"FLOOR(EXTRACT(EPOCH FROM %(expressions)s) / {QUARTER_SECONDS})::integer"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = f"(STRFTIME('%%%%s', %(expressions)s) / {QUARTER_SECONDS})"
        return self.as_sql(compiler, connection, template=template, **context)
