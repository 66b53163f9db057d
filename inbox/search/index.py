"""Keeps the words of what agents delivered and people answered, so that search finds them.

They are written after the commit, by a sweep: stamps are handed out in commit order
(wake/cursor.py), so reading on from the last one misses nothing, and no delivery waits for this or
fails with it (docs/decisions/0007-search-reads-the-cursor.md).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from itertools import chain
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from accounts.encryption import Unreadable
from accounts.models import Agent, ApiKey
from inbox import fts5, shelves, vocabulary
from inbox.models import IndexedUntil, Searchable
from inbox.words import normalised
from wake.cursor import EPOCH, microseconds
from wake.models import Delivery, Response

# In characters: what is longer is found by its beginning.
LONGEST = 20_000
LONGEST_FEEDBACK = 5_000
READ = (
    *("team_id", "agent_id", "lane", "headline", "summary", "details_json", "created_at"),
    *("activity_at", "response__feedback"),
)
AGENTS_AT_ONCE = 100
ROWS_AT_ONCE = 200


def index_new() -> int:
    """Reads on from where it stopped with each agent; returns how many rows it has read."""
    behind = Agent.objects.alias(until=Coalesce("indexed_until__activity_us", 0))
    is_new = Q(activity_us__gt=F("until"))
    was_switched = Q(indexed_until__has_content=settings.WAKE_ENCRYPT_CONTENT)
    agents = behind.filter(is_new | was_switched).order_by("activity_us")
    return sum(_read_on(pk) for pk in agents.values_list("pk", flat=True)[:AGENTS_AT_ONCE])


@transaction.atomic
def index_again(delivery: Delivery) -> None:
    """For a change that moves no cursor: an answer that was taken back."""
    _hold(delivery.agent_id, wait=True)
    Searchable.objects.filter(delivery=delivery).delete()
    _write([delivery.pk])


def forget(delivery_ids: Collection[UUID]) -> None:
    """For what was erased, inside that transaction: nobody who read it before writes it after."""
    agents = Agent.objects.filter(deliveries__in=delivery_ids).distinct().order_by("pk")
    for agent_id in agents.values_list("pk", flat=True):
        _hold(agent_id, wait=True)
    words = vocabulary.words_of(delivery_ids)
    Searchable.objects.filter(delivery__in=delivery_ids).delete()
    vocabulary.forget(words)
    fts5.write_anew(connection)


def searchable(delivery: Delivery, *, feedback: str) -> Searchable:
    """The row, not saved: the headline, the summary and the answer whole, and how the details
    begin. What is encrypted at rest is not written here in plain words."""
    told = (delivery.headline, delivery.summary, feedback[:LONGEST_FEEDBACK])
    text = " ".join(_first(LONGEST, chain(told, _texts(_details(delivery)))))
    return Searchable(
        delivery_id=delivery.pk,
        words=" ".join(normalised(text[:LONGEST]))[:LONGEST],
        shelves=shelves.shelves_of(delivery),
    )


@transaction.atomic
def _read_on(agent_id: UUID) -> int:
    progress = _hold(agent_id, wait=False)
    if progress is None:
        return 0
    if progress.has_content is settings.WAKE_ENCRYPT_CONTENT:
        progress.begin_again(has_content=not settings.WAKE_ENCRYPT_CONTENT)
    # Read after the lock and before the rows: every row up to this stamp is committed.
    newest = Agent.objects.values_list("activity_us", flat=True).get(pk=agent_id)
    since, until = (EPOCH + timedelta(microseconds=us) for us in (progress.activity_us, newest))
    found: list[tuple[Any, UUID]] = []
    for lane in ApiKey.Lane.values:  # each is read in order from cursor_of_an_agent
        rows = Delivery.objects.of_agent(agent_id, lane).after(since).filter(activity_at__lte=until)
        found += rows.values_list("activity_at", "pk")[:ROWS_AT_ONCE]
    found = sorted(found)[:ROWS_AT_ONCE]
    is_again = progress.activity_us < progress.again_until_us
    _write([pk for _, pk in found], is_again=is_again)
    is_done = len(found) < ROWS_AT_ONCE
    progress.activity_us = newest if is_done else microseconds(found[-1][0])
    if is_again and progress.activity_us >= progress.again_until_us:
        fts5.write_anew(connection)  # without the content from before the switch
    progress.save(update_fields=["activity_us", "has_content", "again_until_us"])
    return len(found)


def _hold(agent_id: Any, *, wait: bool) -> IndexedUntil | None:
    """Whoever has this row writes the agent's words; None where another has it and we do not
    wait."""
    IndexedUntil.objects.get_or_create(
        agent_id=agent_id, defaults={"has_content": not settings.WAKE_ENCRYPT_CONTENT}
    )
    skip = connection.features.has_select_for_update_skip_locked and not wait
    rows = IndexedUntil.objects.select_for_update(skip_locked=skip)
    return rows.filter(agent_id=agent_id).first()


def _write(ids: list[UUID], *, is_again: bool = False) -> None:
    """A release moves a delivery's cursor, but few add a word or come on a later day: the others
    stay as they are, unless everything is read again."""
    before = vocabulary.words_of(ids) if is_again else []
    there = set(Searchable.objects.filter(delivery__in=ids).values_list("delivery", flat=True))
    rows = Delivery.objects.filter(pk__in=ids).with_content()
    rows = rows.select_related("response").only(*READ)
    read = [
        searchable(row, feedback=_feedback(row))
        for row in rows.iterator(chunk_size=20)
        if is_again or row.pk not in there or _feedback(row) or _moved(row)
    ]
    vocabulary.learn(word for row in read for word in row.words.split())
    Searchable.objects.bulk_create(
        read,
        update_conflicts=True,
        unique_fields=["delivery"],
        update_fields=["words", "shelves"],
    )
    vocabulary.forget(before)


def _moved(delivery: Delivery) -> bool:
    return delivery.activity_at.date() != delivery.created_at.date()


def _feedback(delivery: Delivery) -> str:
    response: Response | None = getattr(delivery, "response", None)
    return (response and _plain(response, "feedback")) or ""


def _details(delivery: Delivery) -> str | None:
    return _plain(delivery, "details_json")


def _plain(row: Delivery | Response, name: str) -> str | None:
    """None where nobody may find it, and where its key is gone."""
    if settings.WAKE_ENCRYPT_CONTENT:
        return None
    try:
        text: str | None = getattr(row, name)
    except Unreadable:
        return None
    return text


def _texts(details_json: str | None) -> Iterator[str]:
    """Keys and values in the agent's order; numbers as they were written."""
    details = json.loads(details_json, parse_int=str, parse_float=str) if details_json else None
    waiting = [details]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [part for pair in reversed(value.items()) for part in reversed(pair)]
        elif isinstance(value, list):
            waiting += reversed(value)


def _first(length: int, texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        if length <= 0:
            return
        yield text
        length -= len(text) + 1
