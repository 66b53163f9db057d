"""Reads what a person typed into a search box or chose in a form: both say the same things.

`agent:research type:output is:expired by:sam after:2026-10-01 "exact words" words -unwanted`. Every
text is a query: what was not understood is told in `notes` and is never an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.http import QueryDict

from inbox.outcomes import Outcome
from inbox.words import normalised
from wake.models import Delivery

LONGEST = 1_000
LONGEST_VALUE = 128
MOST_TERMS = 20
MOST_NOTES = 5
KINDS = ("expired", "held", "late", "later", "soon", "test")
NAMES = ("team", "agent", "type", "status", "by", "thread")
# What a control of a form is called in the language, where it has another name.
CONTROLS = {"from": "after", "to": "before", "window": "is:soon"}
ONE_DAY = timedelta(days=1)
YEARS = range(1900, 3000)

QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))
UNSEEN = {"Cc", "Cf", "Cs"}  # control characters, bidirectional marks, lone surrogates
TOKEN = re.compile(
    r"""(?P<minus>-?)
        (?:(?P<name>[A-Za-z]+):(?=\S))?
        (?:"(?P<exact>[^"]*)(?P<end>"?)|(?P<plain>[^\s"]+))""",
    re.VERBOSE,
)
DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
ID = re.compile(r"(?:https?://\S+/)?([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})/?", re.I)


@dataclass(frozen=True, slots=True)
class Term:
    """Something to look for, or to leave out. Without `is_exact` a word may be the beginning of a
    longer one."""

    text: str
    is_exact: bool = False
    is_unwanted: bool = False

    @property
    def words(self) -> list[str]:
        return normalised(self.text)

    def __str__(self) -> str:
        return ("-" if self.is_unwanted else "") + _quoted(self.text, always=self.is_exact)


@dataclass(frozen=True, slots=True)
class Query:
    """What is empty asks for nothing. `after` is a day that belongs to it, `before` one that does
    not."""

    terms: tuple[Term, ...] = ()
    team: str = ""
    agent: str = ""
    type: str = ""
    status: str = ""
    by: str = ""
    thread: str = ""
    after: date | None = None
    before: date | None = None
    kinds: frozenset[str] = frozenset()
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_test(self) -> bool:
        return "test" in self.kinds

    @property
    def narrows(self) -> bool:
        """Asks for more than another lane, or one team."""
        return self != self._where

    @property
    def cleared(self) -> str:
        """What is still asked for when the filter is cleared; mostly nothing."""
        return str(self._where)

    @property
    def _where(self) -> Query:
        return Query(team=self.team, kinds=self.kinds & {"test"})

    @property
    def delivery_id(self) -> UUID | None:
        """Where nothing but an id, or the address of a delivery, was pasted."""
        match = ID.fullmatch(self._written(without=["team"]).strip('"'))
        return UUID(match[1]) if match else None

    def __str__(self) -> str:
        """The text that reads as this query."""
        return self._written(without=())

    def as_form(self, controls: Collection[str]) -> dict[str, str]:
        """The values of a form's fields; `read_form` is the way back. What has no control of its
        own stands in the search box, `q`. There "to" is the last day that counts, as people expect
        of a form."""
        values = {
            **{name: getattr(self, name) for name in NAMES},
            "from": self.after.isoformat() if self.after else "",
            "to": (self.before - ONE_DAY).isoformat() if self.before else "",
            "window": "soon" if "soon" in self.kinds else "",
        }
        shown = {name: values[name] for name in controls}
        return {
            "q": self._written(without=[CONTROLS.get(name, name) for name in controls]),
            **shown,
        }

    def _written(self, *, without: Collection[str]) -> str:
        filters = [(name, getattr(self, name)) for name in FILTERS if name != "is"]
        parts = [(name, f"{name}:{_quoted(str(value))}") for name, value in filters if value]
        parts += [(f"is:{kind}", f"is:{kind}") for kind in sorted(self.kinds)]
        written = [text for name, text in parts if name not in without]
        return " ".join(written + [str(term) for term in self.terms])


def read(text: str) -> Query:
    """The query in any text at all."""
    reader = _Reader()
    reader.read(text)
    return reader.query()


def read_form(data: QueryDict) -> Query:
    """The same from a form's fields. What was typed into `q` has the last word."""
    chosen = [(name, data.get(name, "")) for name in NAMES]
    chosen += [("is", data.get("window", ""))]
    chosen += [("after", data.get("from", "")), ("before", _day_after(data.get("to", "")))]
    reader = _Reader()
    for name, value in chosen:
        if value.strip():
            reader.filter(name, _cleaned(value)[:LONGEST_VALUE].replace('"', ""))
    reader.read(data.get("q", ""))
    return reader.query()


class _Unclear(Exception):
    """A value that a filter cannot take; says what it takes."""


class _Reader:
    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.kinds: set[str] = set()
        self.terms: list[Term] = []
        self.notes: list[str] = []

    def query(self) -> Query:
        after, before = self.values.get("after"), self.values.get("before")
        if after and before and after >= before:
            self.notes.append(f"No day is from {after} on and before {before}.")
        if len(self.terms) > MOST_TERMS:
            self.notes.append(f"Only the first {MOST_TERMS} words were looked for.")
        return Query(
            terms=tuple(self.terms[:MOST_TERMS]),
            kinds=frozenset(self.kinds),
            notes=tuple(dict.fromkeys(self.notes))[:MOST_NOTES],
            **self.values,
        )

    def read(self, text: str) -> None:
        if len(text) > LONGEST:
            self.notes.append(f"Only the first {LONGEST:,} characters were read.")
        for token in TOKEN.finditer(_cleaned(text[:LONGEST])):
            self._take(token)

    def filter(self, name: str, value: str) -> None:
        said = f"{name}:{_quoted(value)}"
        value = value.strip()
        try:
            understood = FILTERS[name](value)
        except _Unclear as why:
            self._note(said, f"was left out: {why}")
            return
        if name == "is":
            self.kinds.add(understood)
            return
        earlier = self.values.get(name, understood)
        if earlier != understood:
            self._note(f"{name}:{earlier}", f"was left out, because {name}: came again.")
        self.values[name] = understood

    def _take(self, token: re.Match[str]) -> None:
        name, exact, plain = (token["name"] or "").lower(), token["exact"], token["plain"]
        value = plain if exact is None else exact
        if exact is not None and not token["end"]:
            self.notes.append("A quotation mark stands alone: what follows it is one phrase.")
        if plain and not name and plain.endswith(":") and plain[:-1].lower() in FILTERS:
            self._note(plain, "was left out: nothing follows it.")
        elif name not in FILTERS:
            self._look_for(token, value)
        elif token["minus"]:
            self._note(token[0], "was left out: only words can be excluded.")
        else:
            self.filter(name, value)

    def _look_for(self, token: re.Match[str], value: str) -> None:
        text = f"{token['name']}:{value}" if token["name"] else value
        term = Term(text, is_exact=token["plain"] is None, is_unwanted=bool(token["minus"]))
        if not term.words:
            self._note(token[0], "has no word in it to look for.")
            return
        if token["name"] and not value.startswith("//"):
            self._note(text, f"was looked for as words: there is no filter {token['name']}:")
        self.terms.append(term)

    def _note(self, said: str, what: str) -> None:
        shown = said if len(said) <= 40 else f"{said[:39]}…"
        self.notes.append(f"“{shown}” {what}")


def _cleaned(text: str) -> str:
    """One kind of quotation mark, and nothing that cannot be seen."""
    seen = (" " if letter.isspace() else letter for letter in text.translate(QUOTES))
    return "".join(letter for letter in seen if unicodedata.category(letter) not in UNSEEN)


def _quoted(text: str, *, always: bool = False) -> str:
    return f'"{text}"' if always or " " in text or not text else text


def _name(value: str) -> str:
    if not value:
        raise _Unclear("nothing follows it.")
    return value[:LONGEST_VALUE].strip()


def _one_of(choices: tuple[str, ...], what: str) -> Callable[[str], str]:
    def choose(value: str) -> str:
        if value.lower() not in choices:
            raise _Unclear(f"{what} {', '.join(choices[:-1])} or {choices[-1]}.")
        return value.lower()

    return choose


def _date(value: str) -> date:
    """A day, or the first one of a month or a year."""
    match = DATE.fullmatch(value)
    try:
        day = date(*(int(part or 1) for part in match.groups())) if match else None
    except ValueError:
        day = None
    if day is None or day.year not in YEARS:
        raise _Unclear("a date is written 2026-11-01.")
    return day


def _day_after(text: str) -> str:
    try:
        return (date.fromisoformat(text.strip()) + ONE_DAY).isoformat()
    except (ValueError, OverflowError):
        return text


FILTERS: dict[str, Callable[[str], Any]] = {
    "team": _name,
    "agent": _name,
    "type": _one_of(tuple(Delivery.Type.values), "a type is"),
    "status": _one_of(tuple(Outcome.values), "a status is"),
    "by": _name,
    "thread": _name,
    "after": _date,
    "before": _date,
    "is": _one_of(KINDS, "it takes"),
}
