"""Renders a diff as HTML, marked by sign, word, line and colour, never by colour alone."""

from __future__ import annotations

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from inbox.rendering.diffs.word_diffs import Changes, DiffLine
from pages.characters.directions import direction_of_code, isolated

SIGNED = {"added", "removed"}
ADDED, REMOVED = "<ins>{}</ins>", "<del>{}</del>"
PROBLEM = "notice notice--warning"
NOTHING = SafeString()


def diff_html(changes: Changes, *, label: str) -> SafeString:
    """Renders a region that screen readers announce as `label`."""
    lines = format_html_join("", "{}", ((_line(line),) for line in changes.lines))
    return format_html(
        '{}<div class="diff" tabindex="0" role="group" aria-label="{}">{}</div>',
        _remarks(changes),
        label,
        lines,
    )


def _remarks(changes: Changes) -> SafeString:
    cut = f"Only the first {len(changes.lines):,} lines are shown." if changes.is_cut else ""
    whole = "Word-level comparison skipped." if changes.is_whole and not cut else ""
    return format_html_join(
        "",
        '<p class="{}">{}</p>',
        (
            (kind, words)
            for kind, words in ((PROBLEM, changes.problem), ("quiet", cut or whole))
            if words
        ),
    )


def _line(line: DiffLine) -> SafeString:
    direction = direction_of_code("".join(text for _, text in line.parts))
    is_code = direction == "ltr"
    return format_html(
        '<div class="diff__line diff__line--{}">{}<span dir="{}">{}</span></div>',
        line.kind,
        format_html('<span class="sr-only">{}: </span>', line.kind)
        if line.kind in SIGNED
        else NOTHING,
        direction,
        format_html_join(
            "", "{}", ((_part(line.kind, *part, is_code=is_code),) for part in line.parts)
        ),
    )


def _part(kind: str, changed: bool, text: str, *, is_code: bool) -> str:  # noqa: FBT001 - of DiffLine
    text = isolated(text, is_code=is_code)
    if not changed:
        return text
    return format_html(ADDED if kind == "added" else REMOVED, text)
