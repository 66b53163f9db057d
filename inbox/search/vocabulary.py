"""All words that search has read, on PostgreSQL: what somebody begins to write means these.

An index of words finds `pricing` in a fraction of a millisecond. For `pric:*` it collects whatever
begins so, from all years and agents, again for every shelf that is looked at; so the beginning is
written out before it asks (docs/decisions/0006-search-by-the-shelf.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from django.db import connection

from inbox.models import Word
from inbox.slices import first_of_each

# Of one beginning, in the order of the alphabet.
MOST_MEANT = 200


def learn(words: Iterable[str]) -> None:
    """Numbers and ids are without end and seldom begun: they are not learned."""
    if connection.vendor != "postgresql":
        return
    # In order, so that two workers do not wait for each other in a circle.
    new = [Word(text=word) for word in sorted(set(words)) if word.isalpha()]
    Word.objects.bulk_create(new, ignore_conflicts=True)


def words_of(delivery_ids: Collection[UUID]) -> list[str]:
    """Those that search has read in these deliveries."""
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
    """Those that stand nowhere any more; inside a transaction. A sample of all that have a word is
    enough to find one that does, and at the worst a word is learned again."""
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


def words_that_begin(beginnings: Sequence[str]) -> dict[str, list[str]]:
    """At most MOST_MEANT for each; one query."""
    lists = [Word.objects.filter(text__startswith=text).order_by("text") for text in beginnings]
    found = [word.text for word in first_of_each(lists, count=MOST_MEANT)]
    return {text: [word for word in found if word.startswith(text)] for text in beginnings}
