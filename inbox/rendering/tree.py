"""Renders a JSON value of any size as names and values that a person can read."""

from __future__ import annotations

import time
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.invisible import reveal
from inbox.editing.word_diffs import BUDGET_SECONDS, Changes
from inbox.rendering.diff_html import diff_html
from inbox.rendering.json_text import Number
from inbox.rendering.links import REL, hidden_host, is_url
from inbox.rendering.unified_diffs import AFTER, BEFORE, compared, says_before_and_after, unified

MOST_LINES = 400
LONGEST_TEXT = 5_000
OPEN_WHEN_SHORT = 6
OPEN_LEVELS = 2
ONE_LINE = 120
FEW, SHORT = 8, 80
BETWEEN = " · "
# A long value stands below its name and has the whole width.
NARROW = "<div><dt>{}</dt><dd>{}</dd></div>"
BROAD = '<div class="pairs__broad"><dt>{}</dt><dd>{}</dd></div>'
FOLD = '<details class="fold"><summary>{} {}</summary>{}</details>'
FOLD_OPEN = '<details class="fold" open><summary>{} {}</summary>{}</details>'


def tree(value: Any) -> SafeString:
    return Tree().block(value)


class Tree:
    """Counts its lines, so that 2,000 nested objects stay one page, and the time that comparing
    takes."""

    def __init__(self) -> None:
        self.left = MOST_LINES
        self.time_left = BUDGET_SECONDS

    def block(self, value: dict[str, Any] | list[Any], level: int = 0) -> SafeString:
        """Renders an object or a list, each member on its own line; `before` and `after` share
        one."""
        changed = None
        if isinstance(value, dict) and says_before_and_after(value):
            changed = self.compared(value[BEFORE], value[AFTER])
        members = _members(value)
        shown_members = members[: max(0, self.left)]
        self.left -= len(shown_members)
        lines = format_html_join(
            "",
            "{}",
            (
                (self._line(name, child, level, changed),)
                for name, child in shown_members
                if not (changed and name == AFTER)
            ),
        )
        kind = "pairs" if isinstance(value, dict) else "pairs pairs--list"
        html = format_html('<dl class="{}">{}</dl>', kind, lines) if shown_members else SafeString()
        return html + _rest(len(members) - len(shown_members), anything=bool(members))

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
        """Renders what changes; None if nothing does or the two cannot be compared."""
        if self.left <= 0:
            return None
        began = time.monotonic()
        changes = compared(before, after, budget=max(0, self.time_left))
        self.time_left -= time.monotonic() - began
        return self._diff(changes)

    def diff(self, text: str) -> SafeString | None:
        """Renders a unified diff; None for any other text."""
        return self._diff(unified(text)) if self.left > 0 else None

    def _diff(self, changes: Changes | None) -> SafeString | None:
        if not changes:
            return None
        self.left -= len(changes.lines)
        return diff_html(changes, label="Changes")


def _members(value: dict[str, Any] | list[Any]) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, dict) else list(enumerate(value, 1))


def _is_broad(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) > ONE_LINE or "\n" in value
    return bool(value) and isinstance(value, dict | list) and not _is_one_line(value)


def _is_one_line(value: dict[str, Any] | list[Any]) -> bool:
    """Returns whether the list is a few short words or numbers."""
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
    """Renders a link to a `url` that `is_url`, with its host if the text does not show it."""
    host = hidden_host(url, words or url)
    where = format_html(" <small>({})</small>", host) if host else ""
    return format_html('<a href="{}" rel="{}">{}</a>{}', url, REL, reveal(words or url), where)


def quiet(words: str) -> SafeString:
    return format_html('<span class="quiet">{}</span>', words)
