"""Where the words of a delivery are kept: by whose it is and by the day and the month of its last
activity, so that search can look at the newest first.

An index of words knows no order: of a word that a third of a million deliveries have, it names all
before the newest is known. A shelf is one more thing to look for beside the words: day after day,
then month after month, until a page is full (docs/decisions/0006-search-by-the-shelf.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from wake.models import Delivery

ONE_DAY = timedelta(days=1)
# More than a weekend: after one, the days before it have all that is asked for.
SINGLE_DAYS, TOGETHER = 4, 3


def shelves_of(delivery: Delivery) -> list[str]:
    """Two of its team and two of its agent, which is in one team."""
    day = _day(delivery.activity_at)
    owners = [of_team(delivery.team_id), of_agent(delivery.agent_id)]
    return [
        _name(owner, delivery.lane, period)
        for owner in owners
        for period in (f"{day}", f"{day:%Y-%m}")
    ]


def of_team(team_id: int) -> str:
    return f"team{team_id}"


def of_agent(agent_id: Any) -> str:
    return f"agent{agent_id.hex}"


def names(
    owners: Sequence[str], lane: str, *, newest: datetime, oldest: datetime
) -> list[list[str]]:
    """The shelves of these owners that are looked at together, the newest first; every delivery
    between the two instants is on one of them."""
    return [
        [_name(owner, lane, period) for owner in owners for period in together]
        for together in _periods(_day(newest), _day(oldest))
    ]


def newest(
    rows: QuerySet[Delivery], *, match: str, names: Sequence[Sequence[str]], count: int
) -> list[Delivery]:
    """The first `count` of `rows` with these words, which stand on one of these shelves. Index:
    words_of_deliveries.

    The statement leaves PostgreSQL no choice: a shelf is read from the index of words, and what was
    found on it by primary key. Its own choice for a rare word is to read the whole history.
    """
    one = rows.filter(pk=RawSQL("matching.delivery_id", ())).order_by()[:1]
    sql, params = one.query.sql_with_params()
    statement = f"""
        SELECT page.* FROM unnest(%s::text[]) AS shelf (names) CROSS JOIN LATERAL (
            SELECT found.* FROM (
                SELECT delivery_id FROM inbox_searchable
                WHERE words @@ %s::tsquery AND shelves && shelf.names::text[] OFFSET 0
            ) AS matching CROSS JOIN LATERAL ({sql}) AS found
            ORDER BY found.activity_at DESC, found.id DESC LIMIT %s
        ) AS page LIMIT %s"""  # noqa: S608 - Django made it, the values stay apart
    arrays = [f"{{{','.join(shelf)}}}" for shelf in names]
    return list(Delivery.objects.raw(statement, [arrays, match, *params, count, count]))


def _periods(newest: date, oldest: date) -> Iterator[list[str]]:
    """Single days, for what is written often; weeks, of at least one whole month; and then months,
    each of which costs about as much to look at as a day, if nothing is there."""
    month_before = (newest.replace(day=1) - ONE_DAY).replace(day=1)
    count = (newest - max(month_before, oldest)).days + 1
    days = [f"{newest - number * ONE_DAY}" for number in range(count)]
    yield from ([day] for day in days[:SINGLE_DAYS])
    yield from (days[at : at + TOGETHER] for at in range(SINGLE_DAYS, count, TOGETHER))
    month = month_before - ONE_DAY
    while month >= oldest:
        yield [f"{month:%Y-%m}"]
        month = month.replace(day=1) - ONE_DAY


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def _name(owner: str, lane: str, period: str) -> str:
    return f"{owner}.{lane}.{period}"
