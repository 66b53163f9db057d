"""Keeps the words of deliveries and answers, so that search finds them.

A sweep writes them after the commit: stamps are handed out in commit order
(wake/models/cursor.py), so reading on from the last one misses nothing, and no delivery waits for
indexing or fails with it (docs/decisions/0007-search-reads-the-cursor.md).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from datetime import timedelta
from itertools import chain
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from accounts.models import Agent, ApiKey
from database import sweeps
from database.clock import EPOCH, microseconds
from database.encryption import Unreadable
from inbox.models import IndexedUntil, Searchable
from inbox.rendering.files import without_data
from inbox.search import fts5, time_buckets, vocabulary
from inbox.search.words import normalised
from wake.models import Delivery, Response

# In characters: only the beginning of a longer text is indexed.
LONGEST = 20_000
LONGEST_FEEDBACK = 5_000
COLUMNS = (
    *("team_id", "agent_id", "mode", "headline", "summary", "details_json", "created_at"),
    *("activity_at", "response__feedback"),
)
AGENTS_AT_ONCE = 100
ROWS_AT_ONCE = 200


def index_new() -> int:
    """Indexes what is new of each agent and returns how many rows it read. A failure with one
    agent's rows does not stop the others."""
    behind = Agent.objects.alias(until=Coalesce("indexed_until__activity_us", 0))
    is_new = Q(activity_us__gt=F("until"))
    was_switched = Q(indexed_until__has_content=settings.WAKE_ENCRYPT_CONTENT)
    agents = behind.filter(is_new | was_switched).order_by("activity_us")
    ids = agents.values_list("pk", flat=True)[:AGENTS_AT_ONCE]
    return sweeps.each(ids, _read_on, what="agents' words for search")


@transaction.atomic
def index_again(delivery: Delivery) -> None:
    """Indexes a delivery after a change that moves no cursor: its answer was taken back."""
    _lock(delivery.agent_id, wait=True)
    Searchable.objects.filter(delivery=delivery).delete()
    _write([delivery.pk])


def forget(delivery_ids: Collection[UUID]) -> None:
    """Removes the words of erased deliveries, in the same transaction; holding the agents' rows
    keeps an indexer that read them before from writing them afterwards."""
    agents = Agent.objects.filter(deliveries__in=delivery_ids).distinct().order_by("pk")
    for agent_id in agents.values_list("pk", flat=True):
        _lock(agent_id, wait=True)
    words = vocabulary.words_of(delivery_ids)
    Searchable.objects.filter(delivery__in=delivery_ids).delete()
    vocabulary.forget(words)
    fts5.optimize(connection)


def searchable(delivery: Delivery, *, feedback: str) -> Searchable:
    """Returns the row, not saved: headline, summary and answer in full, and the beginning of the
    details. Leaves out what is encrypted at rest."""
    parts = (delivery.headline, delivery.summary, feedback[:LONGEST_FEEDBACK])
    text = " ".join(beginning_of(chain(parts, texts_in(_details(delivery)))))
    return Searchable(
        delivery_id=delivery.pk,
        words=" ".join(normalised(text[:LONGEST]))[:LONGEST],
        time_buckets=time_buckets.buckets_of(delivery),
    )


@transaction.atomic
def _read_on(agent_id: UUID) -> int:
    progress = _lock(agent_id, wait=False)
    if progress is None:
        return 0
    if progress.has_content is settings.WAKE_ENCRYPT_CONTENT:
        progress.restart(has_content=not settings.WAKE_ENCRYPT_CONTENT)
    # Read after the lock and before the rows: every row up to this stamp is committed.
    newest = Agent.objects.values_list("activity_us", flat=True).get(pk=agent_id)
    since, until = (EPOCH + timedelta(microseconds=us) for us in (progress.activity_us, newest))
    stamped: list[tuple[Any, UUID]] = []
    for mode in ApiKey.Mode.values:  # each is read in order from cursor_of_an_agent
        rows = Delivery.objects.of_agent(agent_id, mode).after(since).filter(activity_at__lte=until)
        stamped += rows.values_list("activity_at", "pk")[:ROWS_AT_ONCE]
    stamped = sorted(stamped)[:ROWS_AT_ONCE]
    is_again = progress.activity_us < progress.again_until_us
    _write([pk for _, pk in stamped], is_again=is_again)
    is_done = len(stamped) < ROWS_AT_ONCE
    progress.activity_us = newest if is_done else microseconds(stamped[-1][0])
    if is_again and progress.activity_us >= progress.again_until_us:
        fts5.optimize(connection)  # without the content from before the switch
    progress.save(update_fields=["activity_us", "has_content", "again_until_us"])
    return len(stamped)


def _lock(agent_id: Any, *, wait: bool) -> IndexedUntil | None:
    """Locks the agent's row, which every writer of its words holds. Returns None if `wait` is False
    and another worker holds it."""
    IndexedUntil.objects.get_or_create(
        agent_id=agent_id, defaults={"has_content": not settings.WAKE_ENCRYPT_CONTENT}
    )
    rows = IndexedUntil.objects.select_for_update(skip_locked=not wait)
    return rows.filter(agent_id=agent_id).first()


def _write(ids: list[UUID], *, is_again: bool = False) -> None:
    """Writes the words of these deliveries. Skips a release that adds no word and falls on the same
    day, unless everything is read again."""
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
    """Returns None for a column that is encrypted, or whose encryption key is lost."""
    if settings.WAKE_ENCRYPT_CONTENT:
        return None
    try:
        text: str | None = getattr(row, name)
    except Unreadable:
        return None
    return text


def texts_in(details_json: str | None) -> Iterator[str]:
    """Yields keys and values in the agent's order, and numbers as they were written; the bytes of a
    picture are no words."""
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
