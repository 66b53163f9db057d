"""Parses a query from a search box or from a form. Every query can be written in the search box and
in the form.

`agent:research type:output is:expired by:sam after:2026-10-01 "exact words" words -unwanted`. Every
text is a valid query: there are no errors, and `notes` name the parts that were left out.
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

from inbox.models.words import normalised
from inbox.search.outcomes import OutcomeFilter
from wake.models import Delivery

LONGEST = 1_000
LONGEST_VALUE = 128
MAX_TERMS = 20
MAX_NOTES = 5
KINDS = ("expired", "failed", "held", "late", "snoozed", "soon", "test", "used")
NAMES = ("team", "agent", "type", "status", "by", "assigned", "thread")
# These form fields have another name in the query language.
CONTROLS = {"from": "after", "to": "before", "window": "is:soon"}
ONE_DAY = timedelta(days=1)
YEARS = range(1900, 3000)

QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))
INVISIBLE = {"Cc", "Cf", "Cs"}  # control characters, bidirectional marks, lone surrogates
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
    """Holds a word or phrase to find or to leave out. Unless `is_exact`, a word also matches longer
    words that begin with it."""

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
    """Holds a parsed query. Empty fields match everything. `after` includes its day, `before` does
    not."""

    terms: tuple[Term, ...] = ()
    team: str = ""
    agent: str = ""
    type: str = ""
    status: str = ""
    by: str = ""
    assigned: str = ""
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
        """Returns whether the query filters by more than a mode or a team."""
        return self != self._scope

    @property
    def cleared(self) -> str:
        """Returns the query that remains after clearing the filter; usually empty."""
        return str(self._scope)

    @property
    def _scope(self) -> Query:
        return Query(team=self.team, kinds=self.kinds & {"test"})

    @property
    def delivery_id(self) -> UUID | None:
        """Returns the id if the query is only the id or the address of a delivery."""
        match = ID.fullmatch(self._written(without=["team"]).strip('"'))
        return UUID(match[1]) if match else None

    def __str__(self) -> str:
        """Returns the text that parses as this query."""
        return self._written(without=())

    def as_form(self, controls: Collection[str]) -> dict[str, str]:
        """Returns the values of a form's fields, which `read_form` parses. Filters without a field
        go into `q`. A form's "to" includes its day, as people expect."""
        values = {
            **{name: getattr(self, name) for name in NAMES},
            "from": self.after.isoformat() if self.after else "",
            "to": (self.before - ONE_DAY).isoformat() if self.before else "",
            "window": "soon" if "soon" in self.kinds else "",
        }
        fields = {name: values[name] for name in controls}
        return {
            "q": self._written(without=[CONTROLS.get(name, name) for name in controls]),
            **fields,
        }

    def _written(self, *, without: Collection[str]) -> str:
        filters = [(name, getattr(self, name)) for name in FILTERS if name != "is"]
        parts = [(name, f"{name}:{_quoted(str(value))}") for name, value in filters if value]
        parts += [(f"is:{kind}", f"is:{kind}") for kind in sorted(self.kinds)]
        written = [text for name, text in parts if name not in without]
        return " ".join(written + [str(term) for term in self.terms])


def read(text: str) -> Query:
    """Parses a search. Every text is a search, so nothing is refused."""
    reader = _Reader()
    reader.read(text)
    return reader.query()


def read_form(data: QueryDict) -> Query:
    """Parses a form's fields. A filter typed into `q` wins over its field."""
    controls = [(name, data.get(name, "")) for name in NAMES]
    controls += [("is", data.get("window", ""))]
    controls += [("after", data.get("from", "")), ("before", _day_after(data.get("to", "")))]
    reader = _Reader()
    for name, value in controls:
        if value.strip():
            reader.filter(name, _cleaned(value)[:LONGEST_VALUE].replace('"', ""))
    reader.read(data.get("q", ""))
    return reader.query()


class _InvalidValue(Exception):
    """Reports a value that a filter does not accept. The message says which values the filter
    accepts."""


class _Reader:
    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.kinds: set[str] = set()
        self.terms: list[Term] = []
        self.notes: list[str] = []

    def query(self) -> Query:
        after, before = self.values.get("after"), self.values.get("before")
        if after and before and after >= before:
            self.notes.append(f"No day is both on or after {after} and before {before}.")
        if len(self.terms) > MAX_TERMS:
            self.notes.append(f"Only the first {MAX_TERMS} words were searched for.")
        return Query(
            terms=tuple(self.terms[:MAX_TERMS]),
            kinds=frozenset(self.kinds),
            notes=tuple(dict.fromkeys(self.notes))[:MAX_NOTES],
            **self.values,
        )

    def read(self, text: str) -> None:
        if len(text) > LONGEST:
            self.notes.append(f"Only the first {LONGEST:,} characters were read.")
        for token in TOKEN.finditer(_cleaned(text[:LONGEST])):
            self._take(token)

    def filter(self, name: str, value: str) -> None:
        typed = f"{name}:{_quoted(value)}"
        value = value.strip()
        try:
            parsed = FILTERS[name](value)
        except _InvalidValue as why:
            self._add_note(typed, f"was left out: {why}")
            return
        if name == "is":
            self.kinds.add(parsed)
            return
        earlier = self.values.get(name, parsed)
        if earlier != parsed:
            self._add_note(
                f"{name}:{earlier}", f"was left out, because {name}: can be used only once."
            )
        self.values[name] = parsed

    def _take(self, token: re.Match[str]) -> None:
        name, exact, plain = (token["name"] or "").lower(), token["exact"], token["plain"]
        value = plain if exact is None else exact
        if exact is not None and not token["end"]:
            self.notes.append("A quotation mark stands alone: everything after it is one phrase.")
        if plain and not name and plain.endswith(":") and plain[:-1].lower() in FILTERS:
            self._add_note(plain, "was left out: it has no value.")
        elif name not in FILTERS:
            self._look_for(token, value)
        elif token["minus"]:
            self._add_note(token[0], "was left out: only words can be excluded.")
        else:
            self.filter(name, value)

    def _look_for(self, token: re.Match[str], value: str) -> None:
        text = f"{token['name']}:{value}" if token["name"] else value
        term = Term(text, is_exact=token["plain"] is None, is_unwanted=bool(token["minus"]))
        if not term.words:
            self._add_note(token[0], "contains no word to search for.")
            return
        if token["name"] and not value.startswith("//"):
            self._add_note(text, f"was searched for as text: there is no filter {token['name']}:")
        self.terms.append(term)

    def _add_note(self, typed: str, what: str) -> None:
        excerpt = typed if len(typed) <= 40 else f"{typed[:39]}…"
        self.notes.append(f"“{excerpt}” {what}")


def _cleaned(text: str) -> str:
    """Returns the text with one kind of quotation mark and without invisible characters."""
    visible = (" " if letter.isspace() else letter for letter in text.translate(QUOTES))
    return "".join(letter for letter in visible if unicodedata.category(letter) not in INVISIBLE)


def _quoted(text: str, *, always: bool = False) -> str:
    return f'"{text}"' if always or " " in text or not text else text


def _name(value: str) -> str:
    if not value:
        raise _InvalidValue("it has no value.")
    return value[:LONGEST_VALUE].strip()


def _one_of(choices: tuple[str, ...], what: str) -> Callable[[str], str]:
    def choose(value: str) -> str:
        if value.lower() not in choices:
            raise _InvalidValue(f"{what} {', '.join(choices[:-1])} or {choices[-1]}.")
        return value.lower()

    return choose


def _kind(value: str) -> str:
    """Returns the kind. `later` is an earlier name of `snoozed`, which saved views may contain."""
    kind = "snoozed" if value.lower() == "later" else value
    return _one_of(KINDS, "it takes")(kind)


def _date(value: str) -> date:
    """Returns a day, or the first day of a month or a year."""
    match = DATE.fullmatch(value)
    try:
        day = date(*(int(part or 1) for part in match.groups())) if match else None
    except ValueError:
        day = None
    if day is None or day.year not in YEARS:
        raise _InvalidValue("a date is written 2026-11-01.")
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
    "status": _one_of(tuple(OutcomeFilter.values), "a status is"),
    "by": _name,
    "assigned": _name,
    "thread": _name,
    "after": _date,
    "before": _date,
    "is": _kind,
}
