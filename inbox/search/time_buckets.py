"""Names time buckets for the words of deliveries, so that search can read the newest first.

An index of words has no order: for a word that occurs in a third of a million deliveries, it
returns all of them before the newest is known. A bucket (team or agent, and day or month of the
last activity) is one more term to search for: day after day, then month after month, until a page
is full (docs/decisions/0006-search-by-time-bucket.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from wake.models import Delivery

ONE_DAY = timedelta(days=1)
# Longer than a weekend, after which the days before it usually fill the page.
SINGLE_DAYS, DAYS_TOGETHER = 4, 3


def buckets_of(delivery: Delivery) -> list[str]:
    """Returns two buckets of the delivery's team and two of its agent."""
    day = _day(delivery.activity_at)
    owners = [of_team(delivery.team_id), of_agent(delivery.agent_id)]
    return [
        _name(owner, delivery.mode, period)
        for owner in owners
        for period in (f"{day}", f"{day:%Y-%m}")
    ]


def of_team(team_id: int) -> str:
    return f"team{team_id}"


def of_agent(agent_id: Any) -> str:
    return f"agent{agent_id.hex}"


def names(
    owners: Sequence[str], mode: str, *, newest: datetime, oldest: datetime
) -> list[list[str]]:
    """Returns the buckets of these owners in the groups in which they are searched, newest first;
    every delivery between the two instants is in one of them."""
    return [
        [_name(owner, mode, period) for owner in owners for period in together]
        for together in _periods(_day(newest), _day(oldest))
    ]


def newest(
    rows: QuerySet[Delivery], *, match: str, names: Sequence[Sequence[str]], count: int
) -> list[Delivery]:
    """Returns the first `count` of `rows` that match and are in one of these buckets. Index:
    words_of_deliveries.

    The statement leaves PostgreSQL no choice: it reads a bucket from the index of words, and its
    deliveries by primary key. For a rare word, PostgreSQL would otherwise read the whole history.
    """
    matching = rows.filter(pk=RawSQL("matching.delivery_id", ())).order_by()[:1]
    sql, params = matching.query.sql_with_params()
    statement = f"""
        SELECT page.* FROM unnest(%s::text[]) AS bucket (names) CROSS JOIN LATERAL (
            SELECT delivery.* FROM (
                SELECT delivery_id FROM inbox_searchable
                WHERE words @@ %s::tsquery AND shelves && bucket.names::text[] OFFSET 0
            ) AS matching CROSS JOIN LATERAL ({sql}) AS delivery
            ORDER BY delivery.activity_at DESC, delivery.id DESC LIMIT %s
        ) AS page LIMIT %s"""  # noqa: S608 - Django made it, the values stay apart
    arrays = [f"{{{','.join(bucket)}}}" for bucket in names]
    return list(Delivery.objects.raw(statement, [arrays, match, *params, count, count]))


def _periods(newest: date, oldest: date) -> Iterator[list[str]]:
    """Yields recent days one by one, then groups of days back through one whole month, then months.
    An empty month costs about as much to search as an empty day."""
    month_before = (newest.replace(day=1) - ONE_DAY).replace(day=1)
    count = (newest - max(month_before, oldest)).days + 1
    days = [f"{newest - number * ONE_DAY}" for number in range(count)]
    yield from ([day] for day in days[:SINGLE_DAYS])
    yield from (days[at : at + DAYS_TOGETHER] for at in range(SINGLE_DAYS, count, DAYS_TOGETHER))
    month = month_before - ONE_DAY
    while month >= oldest:
        yield [f"{month:%Y-%m}"]
        month = month.replace(day=1) - ONE_DAY


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def _name(owner: str, mode: str, period: str) -> str:
    return f"{owner}.{mode}.{period}"
