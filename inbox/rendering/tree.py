"""Shows a JSON object as names and values that a person can read, whatever its size."""

from __future__ import annotations

import time
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from inbox.changes import BUDGET_SECONDS, Changes
from inbox.diff_html import diff_html
from inbox.diffs import AFTER, BEFORE, compared, says_before_and_after, unified
from inbox.invisible import reveal
from inbox.json_text import Number
from inbox.links import REL, hidden_host, is_url

MOST_LINES = 400
LONGEST_TEXT = 5_000
OPEN_WHEN_SHORT = 6
OPEN_LEVELS = 2
ONE_LINE = 120
FEW, SHORT = 8, 80
BETWEEN = " · "
# What is broad stands under its name and has the whole width.
NARROW = "<div><dt>{}</dt><dd>{}</dd></div>"
BROAD = '<div class="pairs__broad"><dt>{}</dt><dd>{}</dd></div>'
FOLD = '<details class="fold"><summary>{} {}</summary>{}</details>'
FOLD_OPEN = '<details class="fold" open><summary>{} {}</summary>{}</details>'


def tree(value: Any) -> SafeString:
    return Tree().block(value)


class Tree:
    """Counts the lines that it has made, so that 2,000 nested objects are a page like another, and
    the time that comparing takes."""

    def __init__(self) -> None:
        self.left = MOST_LINES
        self.time_left = BUDGET_SECONDS

    def block(self, value: dict[str, Any] | list[Any], level: int = 0) -> SafeString:
        """An object or a list, each member on a line of its own; `before` and `after` on one."""
        changed = None
        if isinstance(value, dict) and says_before_and_after(value):
            changed = self.compared(value[BEFORE], value[AFTER])
        members = _members(value)
        taken = members[: max(0, self.left)]
        self.left -= len(taken)
        lines = format_html_join(
            "",
            "{}",
            (
                (self._line(name, child, level, changed),)
                for name, child in taken
                if not (changed and name == AFTER)
            ),
        )
        kind = "pairs" if isinstance(value, dict) else "pairs pairs--list"
        shown = format_html('<dl class="{}">{}</dl>', kind, lines) if taken else SafeString()
        return shown + _rest(len(members) - len(taken), anything=bool(members))

    def _line(
        self, name: str | int, child: Any, level: int, changed: SafeString | None
    ) -> SafeString:
        if changed and name == BEFORE:
            return format_html(BROAD, _name(f"{BEFORE} → {AFTER}"), changed)
        if isinstance(child, str) and (diff := self.diff(child)):
            return format_html(BROAD, _name(name), diff)
        return format_html(
            BROAD if _is_broad(child) else NARROW, _name(name), self.value(child, level)
        )

    def value(self, value: Any, level: int = 0) -> SafeString:
        if not isinstance(value, dict | list):
            return _scalar(value)
        if not value:
            return _rest(0, anything=False)
        if _is_one_line(value):
            return format_html_join(BETWEEN, "{}", ((_scalar(child),) for child in value))
        is_open = len(value) <= OPEN_WHEN_SHORT and level < OPEN_LEVELS
        return format_html(
            FOLD_OPEN if is_open else FOLD,
            len(value),
            _noun(value),
            self.block(value, level + 1),
        )

    def compared(self, before: Any, after: Any) -> SafeString | None:
        """What changes; None where nothing does, or where the two cannot be compared."""
        if self.left <= 0:
            return None
        began = time.monotonic()
        found = compared(before, after, budget=max(0, self.time_left))
        self.time_left -= time.monotonic() - began
        return self._shown(found)

    def diff(self, text: str) -> SafeString | None:
        """A unified diff; None for any other text."""
        return self._shown(unified(text)) if self.left > 0 else None

    def _shown(self, found: Changes | None) -> SafeString | None:
        if not found:
            return None
        self.left -= len(found.lines)
        return diff_html(found, label="What changes")


def _members(value: dict[str, Any] | list[Any]) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, dict) else list(enumerate(value, 1))


def _is_broad(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) > ONE_LINE or "\n" in value
    return bool(value) and isinstance(value, dict | list) and not _is_one_line(value)


def _is_one_line(value: dict[str, Any] | list[Any]) -> bool:
    """A few short words or numbers."""
    if not isinstance(value, list) or len(value) > FEW:
        return False
    if any(isinstance(child, dict | list) for child in value):
        return False
    words = [str(child) for child in value]
    return sum(map(len, words)) <= SHORT and not any("\n" in word for word in words)


def _name(name: str | int) -> SafeString:
    return format_html('<bdi dir="auto">{}</bdi>', reveal(str(name)[:LONGEST_TEXT]))


def _noun(value: dict[str, Any] | list[Any]) -> str:
    noun = "field" if isinstance(value, dict) else "item"
    return noun if len(value) == 1 else f"{noun}s"


def _rest(count: int, *, anything: bool) -> SafeString:
    if anything:
        return quiet(f"{count:,} more in the raw view") if count else SafeString()
    return quiet("empty")


def _scalar(value: Any) -> SafeString:
    if isinstance(value, Number):
        return format_html("<code>{}</code>", value.text[:LONGEST_TEXT])
    if not isinstance(value, str):
        return format_html("<code>{}</code>", {True: "true", False: "false", None: "null"}[value])
    if not value:
        return quiet("empty text")
    if is_url(value):
        return link(value)
    cut = quiet(f"{len(value) - LONGEST_TEXT:,} more characters in the raw view")
    return format_html(
        '<span class="agent-text" dir="auto">{}</span>{}',
        reveal(value[:LONGEST_TEXT]),
        cut if len(value) > LONGEST_TEXT else "",
    )


def link(url: str, words: str = "") -> SafeString:
    """To an address that `is_url`; its host behind it, where the words do not tell it."""
    host = hidden_host(url, words or url)
    where = format_html(" <small>({})</small>", host) if host else ""
    return format_html('<a href="{}" rel="{}">{}</a>{}', url, REL, reveal(words) or url, where)


def quiet(words: str) -> SafeString:
    return format_html('<span class="quiet">{}</span>', words)
