"""Stores the words of deliveries and answers, so that search finds them.

A sweep writes the words after the commit. Stamps are assigned in commit order
(wake/models/cursor.py), so reading on from the last one misses nothing. No delivery waits for
indexing, and no delivery fails if indexing fails (docs/decisions/0007-search-reads-the-cursor.md).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from itertools import chain
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet

from accounts.models import Agent, ApiKey
from database.encryption import Unreadable
from database.follower import ReadPlan, behind, follow, lock
from inbox.models import IndexedUntil, Searchable
from inbox.models.words import normalised
from inbox.rendering.files import without_data
from inbox.search import fts5, time_buckets, vocabulary
from wake.models import Delivery, Response

# In characters. Only the beginning of a longer text is indexed.
LONGEST = 20_000
LONGEST_FEEDBACK = 5_000
COLUMNS = (
    *("team_id", "agent_id", "mode", "headline", "summary", "details_json", "created_at"),
    *("activity_at", "response__feedback"),
)


def index_new(*, at: datetime) -> int:
    """Indexes the new rows of each agent, and returns how many rows were read."""
    return follow(
        Agent.objects.only("activity_us"),
        IndexedUntil,
        _indexing,
        what="words for search",
        at=at,
        also=_switched(),
    )


def agents_to_read(at: datetime) -> QuerySet[Agent]:
    """Returns the agents with rows to index."""
    return behind(Agent.objects.all(), IndexedUntil, at=at, also=_switched())


def _switched() -> Q:
    """Selects agents that were indexed before the encryption of content was turned on or off."""
    return Q(indexed_until__has_content=settings.WAKE_ENCRYPT_CONTENT)


@transaction.atomic
def index_again(delivery: Delivery) -> None:
    """Indexes a delivery again after its answer was taken back, because this change does not move
    the cursor."""
    lock(IndexedUntil, delivery.agent_id, wait=True)
    Searchable.objects.filter(delivery=delivery).delete()
    _write([delivery.pk])


def forget(delivery_ids: Collection[UUID]) -> None:
    """Removes the words of erased deliveries, in the same transaction. Locks the agents' rows, so
    that an indexer that read the words before cannot write them afterwards."""
    agents = Agent.objects.filter(deliveries__in=delivery_ids).distinct().order_by("pk")
    for agent_id in agents.values_list("pk", flat=True):
        lock(IndexedUntil, agent_id, wait=True)
    words = vocabulary.words_of(delivery_ids)
    Searchable.objects.filter(delivery__in=delivery_ids).delete()
    vocabulary.forget(words)
    fts5.optimize(connection)


def searchable(delivery: Delivery, *, feedback: str) -> Searchable:
    """Returns the unsaved row: headline, summary and answer in full, and the beginning of the
    details. Leaves out encrypted columns."""
    parts = (delivery.headline, delivery.summary, feedback[:LONGEST_FEEDBACK])
    text = " ".join(beginning_of(chain(parts, texts_in(_details(delivery)))))
    return Searchable(
        delivery_id=delivery.pk,
        words=" ".join(normalised(text[:LONGEST]))[:LONGEST],
        time_buckets=time_buckets.buckets_of(delivery),
    )


def _indexing(agent: Agent, place: IndexedUntil) -> ReadPlan[Delivery]:
    if place.has_content is settings.WAKE_ENCRYPT_CONTENT:
        place.restart(has_content=not settings.WAKE_ENCRYPT_CONTENT)
    is_again = place.activity_us < place.again_until_us

    def work(rows: Sequence[Delivery]) -> None:
        _write([row.pk for row in rows], is_again=is_again)

    def after() -> None:
        if is_again and place.activity_us >= place.again_until_us:
            fts5.optimize(connection)  # removes the content that was indexed before the switch

    # There is a query for each mode, because the index cursor_of_an_agent gives the order of one
    # mode.
    modes = [Delivery.objects.of_agent(agent, mode) for mode in ApiKey.Mode.values]
    return ReadPlan([rows.only("activity_at") for rows in modes], work, after=after)


def _write(ids: list[UUID], *, is_again: bool = False) -> None:
    """Writes the words of these deliveries. Skips a released answer if the release adds no word and
    is on the same day. `is_again` turns this skipping off."""
    before = vocabulary.words_of(ids) if is_again else []
    indexed = set(Searchable.objects.filter(delivery__in=ids).values_list("delivery", flat=True))
    rows = Delivery.objects.filter(pk__in=ids).with_content()
    rows = rows.select_related("response").only(*COLUMNS)
    iterator = rows.iterator(chunk_size=20)
    with closing(iterator) as deliveries:  # type: ignore[type-var]  # a generator
        rows_to_write = [
            searchable(row, feedback=_feedback(row))
            for row in deliveries
            if is_again or row.pk not in indexed or _feedback(row) or _was_active_later(row)
        ]
    vocabulary.learn(word for row in rows_to_write for word in row.words.split())
    Searchable.objects.bulk_create(
        rows_to_write,
        update_conflicts=True,
        unique_fields=["delivery"],
        update_fields=["words", "time_buckets"],
    )
    vocabulary.forget(before)


def _was_active_later(delivery: Delivery) -> bool:
    return delivery.activity_at.date() != delivery.created_at.date()


def _feedback(delivery: Delivery) -> str:
    response: Response | None = getattr(delivery, "response", None)
    return (response and _if_plain(response, "feedback")) or ""


def _details(delivery: Delivery) -> str | None:
    return _if_plain(delivery, "details_json")


def _if_plain(row: Delivery | Response, name: str) -> str | None:
    """Returns the text of a column, or None if the column is encrypted or its encryption key is
    lost."""
    if settings.WAKE_ENCRYPT_CONTENT:
        return None
    try:
        text: str | None = getattr(row, name)
    except Unreadable:
        return None
    return text


def texts_in(details_json: str | None) -> Iterator[str]:
    """Yields keys and values in the agent's order, and numbers as they were written. Leaves out the
    bytes of pictures."""
    details = json.loads(details_json, parse_int=str, parse_float=str) if details_json else None
    pending = [details]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            pairs = without_data(value).items()
            pending += [part for pair in reversed(pairs) for part in reversed(pair)]
        elif isinstance(value, list):
            pending += reversed(value)


def beginning_of(texts: Iterable[str]) -> Iterator[str]:
    """Yields the first LONGEST characters of all texts together."""
    left = LONGEST
    for text in texts:
        if left <= 0:
            return
        yield text[:left]
        left -= len(text) + 1
