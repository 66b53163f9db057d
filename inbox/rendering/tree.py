"""Renders a JSON value of any size as readable names and values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from inbox.rendering import shapes
from inbox.rendering.diffs.diff_html import diff_html
from inbox.rendering.diffs.step_budget import StepBudget
from inbox.rendering.diffs.unified_diffs import (
    AFTER,
    BEFORE,
    compared,
    says_before_and_after,
    unified,
)
from inbox.rendering.diffs.word_diffs import Changes
from inbox.rendering.json_text import Number
from inbox.rendering.left_out import LeftOut
from inbox.rendering.text.links import REL, hidden_host, is_url
from pages.characters.directions import isolated
from pages.characters.invisible import reveal_value
from pages.characters.look_alike_marks import mark_look_alikes
from pages.characters.look_alikes import foreign_scripts, label_look

MAX_LINES = 400
OPEN_WHEN_SHORT = 6
MAX_AT_ONCE = 12  # items of a list that are open; the rest is folded
OPEN_LEVELS = 2
ONE_LINE = 120
FEW, SHORT = 8, 80
BETWEEN = " · "
EMPTY = "empty"
LONGEST_LOOKED_AT = 200
# A long value is below its name and has the whole width.
NARROW = "<div><dt>{}</dt><dd>{}</dd></div>"
BROAD = '<div class="pairs__broad"><dt>{}</dt><dd>{}</dd></div>'
TABLE = (
    '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>'
    "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
)
CELL, NUMBER_CELL = "<td>{}</td>", '<td class="cell-end">{}</td>'
TALK = '<ol class="talk">{}</ol>'
TURN = (
    '<li><p class="talk__who"><b><bdi dir="auto">{}</bdi></b> {}</p>'
    '<div class="talk__words">{}</div></li>'
)
# Open, because folded content is not in sight. A person can close the fold.
MORE = '<details class="fold" open><summary>Show {} more</summary>{}</details>'
FOLD = '<details class="fold" open><summary>{} {}</summary>{}</details>'

MONEY = '<span class="money">{}</span>'
Frame = Callable[[SafeString], SafeString]


class Money(str):
    """Marks a text as an amount with a currency."""

    __slots__ = ()


def tree(value: Any, left_out: LeftOut | None = None) -> SafeString:
    return Tree(left_out).block(value)


class Tree:
    """Counts its lines and the steps of its comparisons, so that even 2,000 nested objects fit one
    page."""

    def __init__(self, left_out: LeftOut | None = None) -> None:
        self.left_out = LeftOut() if left_out is None else left_out
        self.left = MAX_LINES
        self.budget = StepBudget()

    def block(self, value: dict[str, Any] | list[Any], level: int = 0) -> SafeString:
        """Renders an object or a list, with each member on its own line. `before` and `after` share
        one line."""
        if not value:
            return quiet(EMPTY)
        if isinstance(value, list):
            lines = self._lines(list(enumerate(value, 1)), level)
            more = self._rest(len(value) - len(lines), "item of a list")
            return _folded(lines, _list) + more if lines else more
        return self._object(value, level)

    def _object(self, value: dict[str, Any], level: int) -> SafeString:
        first: list[SafeString] = []
        members = _with_money(value)
        if says_before_and_after(value) and (changed := self.compared(value[BEFORE], value[AFTER])):
            first = [format_html(BROAD, _name(f"{BEFORE} → {AFTER}"), changed)]
            members = [pair for pair in members if pair[0] not in {BEFORE, AFTER}]
        lines = first + self._lines(members, level, as_sent=_of_one_look(value))
        more = self._rest(len(first) + len(members) - len(lines), "member of an object")
        return _pairs(_joined(lines)) + more if lines else more

    def _lines(
        self, members: list[tuple[Any, Any]], level: int, *, as_sent: Container[Any] = ()
    ) -> list[SafeString]:
        shown_members = members[: max(0, self.left)]
        self.left -= len(shown_members)
        return [
            self._line(_name(name, as_sent=name in as_sent), child, level)
            for name, child in shown_members
        ]

    def _line(self, name: SafeString, child: Any, level: int) -> SafeString:
        if isinstance(child, str) and (diff := self.diff(child)):
            return format_html(BROAD, name, diff)
        return format_html(BROAD if _is_broad(child) else NARROW, name, self.value(child, level))

    def value(self, value: Any, level: int = 0) -> SafeString:
        if not isinstance(value, dict | list):
            return _scalar(value)
        if not value:
            return quiet(EMPTY)
        if _is_one_line(value):
            return format_html_join(BETWEEN, "{}", ((_scalar(child),) for child in value))
        if (html := self._shape(value)) is not None:
            return html
        is_list = isinstance(value, list)
        html = self.block(value, level + 1)
        if level < OPEN_LEVELS and (is_list or len(value) <= OPEN_WHEN_SHORT):
            return html
        return format_html(FOLD, len(value), _noun(value), html)

    def _shape(self, value: dict[str, Any] | list[Any]) -> SafeString | None:
        """Renders money, a conversation or equal rows. Returns None for any other value."""
        if isinstance(value, dict):
            amount = shapes.money(value)
            return format_html(MONEY, amount) if amount else None
        if turns := shapes.conversation(value):
            return self._talk(turns)
        if columns := shapes.columns(value):
            return self._rows(columns, value)
        return None

    def _talk(self, turns: list[shapes.SpokenTurn]) -> SafeString:
        most = max(0, self.left)
        self.left -= len(turns)
        lines = [
            format_html(TURN, isolated(reveal_value(turn.speaker)), _at(turn.at), _text(turn.text))
            for turn in turns[:most]
        ]
        rest = self._rest(len(turns) - len(lines), "message of a conversation")
        return _folded(lines, partial(format_html, TALK)) + rest

    def _rows(self, columns: list[str], rows: list[dict[str, Any]]) -> SafeString:
        most = max(0, self.left)
        self.left -= len(rows)
        head = format_html_join("", '<th scope="col">{}</th>', ((_name(one),) for one in columns))
        lines = [
            format_html("<tr>{}</tr>", format_html_join("", "{}", map(_cell, row.values())))
            for row in rows[:most]
        ]
        rest = self._rest(len(rows) - len(lines), "row of a table")
        return _folded(lines, partial(format_html, TABLE, head)) + rest

    def compared(self, before: Any, after: Any) -> SafeString | None:
        """Renders the changes. Returns None if there are no changes, if the two values cannot be
        compared, or if the page has no room left."""
        if self.left <= 0:
            return None
        return self._diff(compared(before, after, budget=self.budget))

    def diff(self, text: str) -> SafeString | None:
        """Renders a unified diff. Returns None for any other text."""
        return self._diff(unified(text)) if self.left > 0 else None

    def _diff(self, changes: Changes | None) -> SafeString | None:
        if not changes:
            return None
        self.left -= len(changes.lines)
        count_cut_lines(changes, self.left_out)
        return diff_html(changes, label="Changes")

    def _rest(self, count: int, noun: str) -> SafeString:
        self.left_out.count(count, noun)
        return quiet(f"{count:,} more in the raw view") if count else SafeString()


def count_cut_lines(changes: Changes, left_out: LeftOut) -> None:
    left_out.count(changes.skipped, "line equal on both sides of a comparison")
    if changes.is_cut:
        left_out.name("The end of a long difference, in the raw view")


def _folded(lines: list[SafeString], frame: Frame) -> SafeString:
    """Puts the first lines of a list into one frame, and the rest into a second, folded frame."""
    if len(lines) <= MAX_AT_ONCE + 1:
        return frame(_joined(lines))
    rest = frame(_joined(lines[MAX_AT_ONCE:]))
    first = frame(_joined(lines[:MAX_AT_ONCE]))
    return first + format_html(MORE, len(lines) - MAX_AT_ONCE, rest)


def _pairs(lines: SafeString) -> SafeString:
    return format_html('<dl class="pairs">{}</dl>', lines)


def _list(lines: SafeString) -> SafeString:
    return format_html('<dl class="pairs pairs--list">{}</dl>', lines)


def _joined(lines: list[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((line,) for line in lines))


def _with_money(value: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Returns the members. An amount and its currency are one member."""
    amount = shapes.name_of_amount(value)
    if not amount:
        return list(value.items())
    return [
        (name, Money(shapes.money_of(value, amount)) if name == amount else child)
        for name, child in value.items()
        if name != "currency"
    ]


def _is_broad(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) > ONE_LINE or "\n" in value
    if isinstance(value, dict) and shapes.money(value):
        return False
    return bool(value) and isinstance(value, dict | list) and not _is_one_line(value)


def _is_one_line(value: dict[str, Any] | list[Any]) -> bool:
    """Returns whether the list is a few short words or numbers."""
    if not isinstance(value, list) or len(value) > FEW:
        return False
    if any(isinstance(child, dict | list) for child in value):
        return False
    words = [str(child) for child in value]
    return sum(map(len, words)) <= SHORT and not any("\n" in word or "·" in word for word in words)


def _of_one_look(names: Iterable[str]) -> frozenset[str]:
    """Returns the names that look like another name of the same object."""
    looks = {name: label_look(shapes.words(name)) for name in names}
    counts = Counter(looks.values())
    return frozenset(name for name, its_look in looks.items() if counts[its_look] > 1)


def _name(name: str | int, *, as_sent: bool = False) -> SafeString:
    """Renders a name as words, or as it was sent. Adds a mark if letters of another script look
    like Latin ones."""
    text = str(name)
    if not text.strip():
        return quiet("no name" if not text else blanks(text))
    words = text if as_sent else shapes.words(text)
    is_marked = mark_look_alikes(words) != words
    is_looked_at = len(text) <= LONGEST_LOOKED_AT and not is_marked
    scripts = foreign_scripts(text) if is_looked_at else []
    return format_html(
        '<bdi dir="auto">{}</bdi>{}',
        isolated(reveal_value(words)),
        quiet(f" ({' and '.join(scripts)} letters)") if scripts else "",
    )


def blanks(text: str) -> str:
    return "1 blank character" if len(text) == 1 else f"{len(text):,} blank characters"


def _noun(value: dict[str, Any] | list[Any]) -> str:
    noun = "field" if isinstance(value, dict) else "item"
    return noun if len(value) == 1 else f"{noun}s"


def _cell(value: Any) -> tuple[SafeString]:
    return (format_html(NUMBER_CELL if isinstance(value, Number) else CELL, _scalar(value)),)


def _scalar(value: Any) -> SafeString:
    if isinstance(value, Money):
        return format_html(MONEY, value)
    if isinstance(value, Number):
        return format_html('<span class="number">{}</span>', value.text)
    if not isinstance(value, str):
        return quiet({True: "yes", False: "no", None: "none"}[value])
    if not value.strip():
        return quiet(blanks(value) if value else "empty text")
    return link(value) if is_url(value) else _time(value) or _text(value)


def _time(text: str) -> SafeString:
    """Renders a time or a day. Returns an empty text for any other text."""
    words = shapes.moment(text) if len(text) < ONE_LINE else ""
    return format_html('<time datetime="{}">{}</time>', text, words) if words else SafeString()


def _at(text: str) -> SafeString:
    return _time(text) or _text(text) if text else SafeString()


def _text(text: str) -> SafeString:
    return format_html(
        '<span class="agent-text" dir="auto">{}</span>', isolated(reveal_value(text))
    )


def link(url: str, words: str = "") -> SafeString:
    """Renders a link to a `url` that `is_url`. If the words differ from the address, shows the
    address as well. If the address does not show its host, shows the host as well."""
    words = words if words.strip() else url
    address = format_html(" <small>{}</small>", reveal_value(url)) if words != url else ""
    host = hidden_host(url, url)
    where = format_html(" <small>({})</small>", host) if host else ""
    return format_html(
        '<a href="{}" rel="{}">{}</a>{}{}', url, REL, reveal_value(words), address, where
    )


def quiet(words: str) -> SafeString:
    return format_html('<span class="quiet">{}</span>', words)
