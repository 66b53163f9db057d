"""Stores the words that search has indexed, on PostgreSQL, to expand a prefix into words.

An index of words finds `pricing` in a fraction of a millisecond. For `pric:*`, the index collects
every word with that prefix, from all years and agents, again for every bucket. So the prefix is
expanded before the search (docs/decisions/0006-search-by-time-bucket.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from django.db import connection

from database.batched_queries import first_of_each
from inbox.models import Word

# The maximum for one prefix, in alphabetical order.
MAX_WORDS = 200


def learn(words: Iterable[str]) -> None:
    """Adds new words. Leaves out numbers and ids, which are endless and rarely searched by
    prefix."""
    if connection.vendor != "postgresql":
        return
    # Sorted, so that two workers do not deadlock.
    new = [Word(text=word) for word in sorted(set(words)) if word.isalpha()]
    Word.objects.bulk_create(new, ignore_conflicts=True)


def words_of(delivery_ids: Collection[UUID]) -> list[str]:
    """Returns the indexed words of these deliveries."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT word FROM inbox_searchable, unnest(tsvector_to_array(words)) AS word"
            " WHERE delivery_id = ANY(%s)",
            [list(delivery_ids)],
        )
        return [word for (word,) in cursor.fetchall()]


def forget(words: Collection[str]) -> None:
    """Deletes the words that no delivery contains any more; needs a transaction. Checks only a
    sample of the deliveries with a word. So at worst, a word is deleted and is added again
    later."""
    if not words:
        return
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL gin_fuzzy_search_limit = 5000")
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            "DELETE FROM inbox_word WHERE text = ANY(%s) AND NOT EXISTS"
            " (SELECT FROM inbox_searchable WHERE words @@ quote_literal(text)::tsquery)",
            [list(words)],
        )
        cursor.execute("SET LOCAL gin_fuzzy_search_limit = 0")
        cursor.execute("SET LOCAL enable_seqscan = on")


def words_with_prefix(prefixes: Sequence[str]) -> dict[str, list[str]]:
    """Returns at most MAX_WORDS words for each prefix. Makes one query."""
    lists = [Word.objects.filter(text__startswith=text).order_by("text") for text in prefixes]
    words = [word.text for word in first_of_each(lists, count=MAX_WORDS)]
    return {text: [word for word in words if word.startswith(text)] for text in prefixes}
