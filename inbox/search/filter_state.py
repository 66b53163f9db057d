"""Keeps the inbox's filter and selection in the address, so that both survive an action, a page and
a reload."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict

from database.uuids import uuid_or_none
from inbox.search.query_language import read_form

MAX_SELECTED = 50
LONGEST_QUERY = 4_000
# Leaves out `answered`, which names the last answer and is for one visit only.
FILTER_PARAMETERS = ("q", "team", "agent", "type", "window", "before")


@dataclass(frozen=True, slots=True)
class FilterState:
    """Holds the filter and the selection of a list. `query` has the filter and the page as in the
    address, without the selection."""

    query: str = ""
    ids: tuple[UUID, ...] = ()

    @classmethod
    def from_query(cls, query: QueryDict) -> Self:
        """Reads the state from the address of the inbox."""
        text = urlencode([(name, query[name]) for name in FILTER_PARAMETERS if query.get(name)])
        return cls(text if len(text) <= LONGEST_QUERY else "", read_ids(query.getlist("id")))

    @classmethod
    def from_back(cls, data: QueryDict) -> Self:
        """Reads the state to which a form or a link returns, from its parameter `back`."""
        return cls.from_query(
            QueryDict(data.get("back", "")[: 2 * LONGEST_QUERY + 50 * MAX_SELECTED])
        )

    @classmethod
    def from_form(cls, data: QueryDict) -> Self:
        """Reads the same state, and adds the checked boxes (`id`)."""
        state = cls.from_back(data)
        return replace(state, ids=read_ids([*data.getlist("id"), *map(str, state.ids)]))

    @property
    def team(self) -> str:
        """Returns the slug of the team in the filter, or an empty text for all teams."""
        return read_form(QueryDict(self.query)).team

    def deselect(self, ids: Collection[UUID]) -> Self:
        """Returns the state without these ids."""
        return replace(self, ids=tuple(pk for pk in self.ids if pk not in ids))

    def selected_elsewhere(self, ids: Collection[UUID]) -> tuple[UUID, ...]:
        """Returns the selected ids that are on another page of the list."""
        return self.deselect(ids).ids

    def selection_query(self) -> str:
        """Returns the query of a page about the selection; `from_form` reads it."""
        back = [("back", self.query)] if self.query else []
        return urlencode([*(("id", pk) for pk in self.ids), *back])

    def back_query(self) -> str:
        """Returns the query of a page that links back to this state."""
        return urlencode({"back": str(self)}) if str(self) else ""

    def link_suffix(self) -> str:
        """Returns the text to append to the address of a delivery. The text leaves out the selected
        ids, because there may be many of them and every row has such a link."""
        return f"?{urlencode({'back': self.query})}" if self.query else ""

    def __str__(self) -> str:
        """Returns the query of the inbox."""
        return "&".join(part for part in [self.query, *(f"id={pk}" for pk in self.ids)] if part)


def read_ids(texts: Iterable[str]) -> tuple[UUID, ...]:
    """Returns each valid id once, at most MAX_SELECTED."""
    ids: dict[UUID, None] = {}
    for text in texts:
        if pk := uuid_or_none(text):
            ids.setdefault(pk)
    return tuple(ids)[:MAX_SELECTED]
