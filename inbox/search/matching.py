"""Writes a query's words in the search language of the database.

Words are letters and digits only (inbox/models/words.py), so none of them is an operator of that
language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from django.conf import settings
from django.db import connection
from django.db.models import OuterRef, Subquery, Value
from django.db.models.functions import Coalesce

from inbox.models import Searchable
from inbox.models.words import WordsMatch
from inbox.search.query_language import Term
from inbox.search.vocabulary import MAX_WORDS, words_with_prefix
from wake.models import DeliveryQuerySet

# A shorter word only matches itself, not words that begin with it.
SHORTEST_PREFIX = 3
ENCRYPTED = (
    "Only headlines and summaries were searched, because details and feedback are encrypted."
)


@dataclass(frozen=True, slots=True)
class WordQuery:
    """Holds the terms of a query in the database's syntax; `notes` name the parts that were left
    out."""

    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, terms: Sequence[Term]) -> Self:
        """Builds the query; makes one database query on PostgreSQL if a term may be a prefix."""
        prefixes = [term.words[0] for term in terms if _is_prefix(term)]
        known = words_with_prefix(prefixes) if prefixes and _is_postgresql() else {}
        return cls(
            wanted=tuple(_phrase(term, known) for term in terms if not term.is_unwanted),
            unwanted=tuple(_phrase(term, known) for term in terms if term.is_unwanted),
            notes=(
                *([ENCRYPTED] if terms and settings.WAKE_ENCRYPT_CONTENT else []),
                *(
                    f"Too many words begin with “{prefix}”: some were left out."
                    for prefix, words in known.items()
                    if len(words) == MAX_WORDS
                ),
            ),
        )

    @property
    def match(self) -> str:
        """Returns the operand of `words__match`; at least one term must be wanted."""
        together, without = (" & ", " & !") if _is_postgresql() else (" AND ", " NOT ")
        return without.join([together.join(self.wanted), *self.unwanted])

    def narrow(self, rows: DeliveryQuerySet) -> DeliveryQuerySet:
        """Returns the rows that have all wanted terms and no unwanted one."""
        if _is_postgresql():
            return self._narrow_row_by_row(rows)
        if self.wanted:
            return rows.filter(searchable__words__match=self.match)
        for phrase in self.unwanted:
            rows = rows.exclude(searchable__words__match=phrase)
        return rows

    def _narrow_row_by_row(self, rows: DeliveryQuerySet) -> DeliveryQuerySet:
        """Checks the words of each row. Otherwise PostgreSQL would not start from the one page of
        rows, but from the words, and a word may match a million deliveries."""
        if not (self.wanted or self.unwanted):
            return rows
        words = Subquery(Searchable.objects.filter(delivery=OuterRef("pk")).values("words"))
        if self.wanted:
            return rows.filter(WordsMatch(words, self.match))
        # A delivery that is not indexed yet has no words.
        return rows.exclude(
            Coalesce(WordsMatch(words, " | ".join(self.unwanted)), Value(value=False))
        )


def _phrase(term: Term, known: dict[str, list[str]]) -> str:
    words = term.words
    if not _is_postgresql():
        return f'"{" ".join(words)}"' + ("*" if _is_prefix(term) else "")
    if not _is_prefix(term):
        return f"({' <-> '.join(map(_quoted, words))})"
    alternatives = dict.fromkeys([*words, *known[words[0]]])
    return f"({' | '.join(map(_quoted, alternatives))})"


def _is_prefix(term: Term) -> bool:
    words = term.words
    return len(words) == 1 and not term.is_exact and len(words[0]) >= SHORTEST_PREFIX


def _quoted(word: str) -> str:
    return f"'{word}'"


def _is_postgresql() -> bool:
    return connection.vendor == "postgresql"
