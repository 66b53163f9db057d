"""Says in the query language of the database which words are looked for.

Words are letters and digits alone (inbox/words.py), so nothing in them means anything there.
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
from inbox.query_language import Term
from inbox.vocabulary import MOST_MEANT, words_that_begin
from inbox.words import Match
from wake.models import DeliveryQuerySet

# What is shorter is not taken for the beginning of a word.
SHORTEST_BEGINNING = 3
ENCRYPTED = "Details and feedback are encrypted: only headlines and summaries were searched."


@dataclass(frozen=True, slots=True)
class Sought:
    """The terms of a query, each as the database writes it; `notes` tell what was left out."""

    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, terms: Sequence[Term]) -> Self:
        """One query on PostgreSQL where a term may be a beginning."""
        begun = [term.words[0] for term in terms if _begins(term)]
        known = words_that_begin(begun) if begun and _is_postgresql() else {}
        return cls(
            wanted=tuple(_phrase(term, known) for term in terms if not term.is_unwanted),
            unwanted=tuple(_phrase(term, known) for term in terms if term.is_unwanted),
            notes=(
                *([ENCRYPTED] if terms and settings.WAKE_ENCRYPT_CONTENT else []),
                *(
                    f"Too many words begin with “{beginning}”: some were left out."
                    for beginning, words in known.items()
                    if len(words) == MOST_MEANT
                ),
            ),
        )

    @property
    def match(self) -> str:
        """For `words__match`, where at least one of the terms is wanted."""
        together, without = (" & ", " & !") if _is_postgresql() else (" AND ", " NOT ")
        return without.join([together.join(self.wanted), *self.unwanted])

    def narrow(self, rows: DeliveryQuerySet) -> DeliveryQuerySet:
        """Those that have all of the wanted terms and none of the unwanted."""
        if _is_postgresql():
            return self._narrow_row_by_row(rows)
        if self.wanted:
            return rows.filter(searchable__words__match=self.match)
        for phrase in self.unwanted:
            rows = rows.exclude(searchable__words__match=phrase)
        return rows

    def _narrow_row_by_row(self, rows: DeliveryQuerySet) -> DeliveryQuerySet:
        """PostgreSQL would rather begin with the words, of which there may be a million, than with
        the rows, of which a page is wanted."""
        if not (self.wanted or self.unwanted):
            return rows
        words = Subquery(Searchable.objects.filter(delivery=OuterRef("pk")).values("words"))
        if self.wanted:
            return rows.filter(Match(words, self.match))
        # Of what is not read yet there are no words.
        return rows.exclude(Coalesce(Match(words, " | ".join(self.unwanted)), Value(value=False)))


def _phrase(term: Term, known: dict[str, list[str]]) -> str:
    words = term.words
    if not _is_postgresql():
        return f'"{" ".join(words)}"' + ("*" if _begins(term) else "")
    if not _begins(term):
        return f"({' <-> '.join(map(_quoted, words))})"
    meant = dict.fromkeys([*words, *known[words[0]]])
    return f"({' | '.join(map(_quoted, meant))})"


def _begins(term: Term) -> bool:
    words = term.words
    return len(words) == 1 and not term.is_exact and len(words[0]) >= SHORTEST_BEGINNING


def _quoted(word: str) -> str:
    return f"'{word}'"


def _is_postgresql() -> bool:
    return connection.vendor == "postgresql"
