"""Where in the inbox a person is, and what they have selected there: both are in the address, so
they survive an action, a page and a reload."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict

from inbox.ids import uuid_or_none
from inbox.query_language import read_form

MOST_SELECTED = 50
LONGEST_QUERY = 4_000
# Of its address; what was just answered is for one visit only.
KEPT = ("q", "team", "agent", "type", "window", "before")


@dataclass(frozen=True, slots=True)
class Place:
    """`query` is the filter and the page, as in the address and without what is selected."""

    query: str = ""
    ids: tuple[UUID, ...] = ()

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """The inbox under this address."""
        text = urlencode([(name, query[name]) for name in KEPT if query.get(name)])
        return cls(text if len(text) <= LONGEST_QUERY else "", read_ids(query.getlist("id")))

    @classmethod
    def back(cls, data: QueryDict) -> Self:
        """The inbox that a form or a link leads back to; its address is `back`."""
        return cls.of(QueryDict(data.get("back", "")[: 2 * LONGEST_QUERY + 50 * MOST_SELECTED]))

    @classmethod
    def left(cls, data: QueryDict) -> Self:
        """The same, where each selected box is an `id` beside it."""
        back = cls.back(data)
        return replace(back, ids=read_ids([*data.getlist("id"), *map(str, back.ids)]))

    @property
    def team(self) -> str:
        """The slug of the only team there, or nothing."""
        return read_form(QueryDict(self.query)).team

    def without(self, ids: Collection[UUID]) -> Self:
        return replace(self, ids=tuple(pk for pk in self.ids if pk not in ids))

    def away(self, ids: Collection[UUID]) -> tuple[UUID, ...]:
        """The selected ones that are not among these: on another page of the list."""
        return self.without(ids).ids

    def along(self) -> str:
        """For the address of a page about what is selected; `left` reads it."""
        back = [("back", self.query)] if self.query else []
        return urlencode([*(("id", pk) for pk in self.ids), *back])

    def as_back(self) -> str:
        """For the address of a page that leads back here."""
        return urlencode({"back": str(self)}) if str(self) else ""

    def on_link(self) -> str:
        """Behind the address of one delivery. Without what is selected, which may be long, and
        there is a link on every row."""
        return f"?{urlencode({'back': self.query})}" if self.query else ""

    def __str__(self) -> str:
        """Behind the question mark of the inbox."""
        return "&".join(part for part in [self.query, *(f"id={pk}" for pk in self.ids)] if part)


def read_ids(texts: Iterable[str]) -> tuple[UUID, ...]:
    """Each once, as many as may be selected; what is no id is left out."""
    found: dict[UUID, None] = {}
    for text in texts:
        if pk := uuid_or_none(text):
            found.setdefault(pk)
    return tuple(found)[:MOST_SELECTED]
