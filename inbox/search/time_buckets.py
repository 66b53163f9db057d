"""Names the time buckets of deliveries, so that search can read the newest first.

An index of words has no order: for a word in a third of a million deliveries, the index returns all
of these deliveries before the newest is known. A bucket (team or agent, and day or month of the
last activity) is an additional search term. Search goes day by day, then month by month, until a
page is full (docs/decisions/0006-search-by-time-bucket.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from wake.models import Delivery

ONE_DAY = timedelta(days=1)
# Four single days are longer than a weekend. If four days do not fill the page, the days before
# them usually do.
SINGLE_DAYS, DAYS_TOGETHER = 4, 3


def buckets_of(delivery: Delivery) -> list[str]:
    """Returns the day's and the month's bucket of the delivery, for its team and for its agent."""
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
    """Returns the buckets of these owners in groups, in the order of the search, newest first.
    Every delivery between the two times is in one of these buckets."""
    return [
        [_name(owner, mode, period) for owner in owners for period in together]
        for together in _periods(_day(newest), _day(oldest))
    ]


def newest(
    rows: QuerySet[Delivery], *, match: str, names: Sequence[Sequence[str]], count: int
) -> list[Delivery]:
    """Returns the first `count` matching `rows` in these buckets. Index: words_of_deliveries.

    The statement leaves PostgreSQL no choice: a bucket is read from the index of words, and the
    bucket's deliveries by primary key. For a rare word, PostgreSQL would otherwise read the whole
    history.
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
        ) AS page LIMIT %s"""  # noqa: S608 - Django wrote it, values are parameters
    arrays = [f"{{{','.join(bucket)}}}" for bucket in names]
    return list(Delivery.objects.raw(statement, [arrays, match, *params, count, count]))


def _periods(newest: date, oldest: date) -> Iterator[list[str]]:
    """Yields recent days one by one, then groups of days back through one whole month, then months.
    Searching an empty month costs about as much as searching an empty day."""
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
