"""Renders typed blocks as HTML; shows an unknown or malformed block as text or JSON, and never
fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.characters.invisible import reveal
from inbox.rendering.blocks import MOST_BLOCKS, Choice, Control, FieldBlock, Option, controls, cut
from inbox.rendering.charts import Chart, chart_of, drawn
from inbox.rendering.files import FileBlocks, Files, without_data
from inbox.rendering.json_text import Number
from inbox.rendering.left_out import LeftOut
from inbox.rendering.links import is_url
from inbox.rendering.syntax_colours import coloured
from inbox.rendering.tree import CELL, NUMBER_CELL, TABLE, Tree, link, quiet

MOST_CELLS = 3_000
MOST_COLUMNS = 30
MOST_COLOURED_CODE = 12_000
MOST_CHART_POINTS = 3_000
LONGEST_CELL = 1_000
PRE = '<pre dir="auto">{}</pre>'
CODE = "<pre><code>{}</code></pre>"
CHART = (
    '<div class="chart-frame">{}<details class="fold"><summary>Table</summary>{}</details></div>'
)
OPTIONS = '<div class="options"><p class="options__label" dir="auto">{}</p>{}<ul>{}</ul></div>'
SEVERAL = "Any number of these:"
OPTION = '<li><b dir="auto">{}</b> {}{}</li>'
RECOMMENDED = '<span class="chip">{}</span>'
PAIR = '<div><dt><bdi dir="auto">{}</bdi></dt><dd>{}</dd></div>'
TITLED = '<h3 dir="auto">{}</h3>{}'
LONG_CELL = (
    '<span dir="auto">{}</span><details class="fold"><summary>Show all</summary>'
    '<span dir="auto">{}</span></details>'
)
NOT_KNOWN = "This block could not be displayed as intended:"

Markdown = Callable[[str], SafeString]


def blocks_html(
    blocks: list[Any],
    *,
    markdown: Markdown,
    inputs_apart: bool = False,
    files: Files | None = None,
    left_out: LeftOut,
) -> SafeString:
    """Renders the blocks. `markdown` returns an empty text for what it cannot format in good
    time. `inputs_apart` leaves choices and fields out, which the page shows as inputs.
    Without `files`, image and file blocks are shown as unknown."""
    renderer = _BlocksRenderer(
        markdown, controls(blocks), inputs_apart=inputs_apart, files=files, left_out=left_out
    )
    sections = format_html_join(
        "", '<section class="block">{}</section>', ((one,) for one in renderer.sections(blocks))
    )
    rest = len(blocks) - MOST_BLOCKS
    left_out.count(rest, "block")
    return sections + (quiet(f"{rest:,} more blocks in the raw view") if rest > 0 else SafeString())


class _BlocksRenderer:
    """Renders blocks within one limit of table cells, coloured code and chart points."""

    def __init__(
        self,
        markdown: Markdown,
        controls: dict[int, Control],
        *,
        inputs_apart: bool,
        files: Files | None,
        left_out: LeftOut,
    ) -> None:
        self.markdown = markdown
        self.controls = controls
        self.inputs_apart = inputs_apart
        self.left_out = left_out
        self.files = FileBlocks(files, left_out) if files else None
        self.tree = Tree(left_out)
        self.cells_left = MOST_CELLS
        self.coloured_left = MOST_COLOURED_CODE
        self.points_left = MOST_CHART_POINTS

    def sections(self, blocks: list[Any]) -> Iterator[SafeString]:
        """Yields the blocks; consecutive fields become one list."""
        numbered = ((self.controls.get(place), one) for place, one in enumerate(blocks))
        limited = (pair for pair in islice(numbered, MOST_BLOCKS) if not self._is_apart(pair[0]))
        for are_fields, run in groupby(limited, key=lambda pair: isinstance(pair[0], FieldBlock)):
            if are_fields:
                yield self._fields(control for control, _ in run)
            else:
                yield from (self._section(control, block) for control, block in run)

    def _is_apart(self, control: Control | None) -> bool:
        return self.inputs_apart and control is not None

    def _section(self, control: Control | None, block: Any) -> SafeString:
        if isinstance(control, Choice):
            return _options(control)
        shown = self.files.html(block) if self.files else None
        html = shown or self._known_block(block) or self._unknown_block(block)
        title = block.get("title") if isinstance(block, dict) else None
        if isinstance(title, str) and title:
            return format_html(TITLED, reveal(title), html)
        return html

    def _known_block(self, block: Any) -> SafeString | None:
        """Returns None for an unknown, malformed or too large block."""
        match block:
            case {"type": "markdown", "text": str(text)}:
                return self.markdown(text) or format_html(PRE, reveal(text))
            case {"type": "text", "text": str(text)}:
                return format_html('<p class="agent-text" dir="auto">{}</p>', reveal(text))
            case {"type": "code", "text": str(text)}:
                return format_html(CODE, self._code(text, block.get("language")))
            case {"type": "diff", "text": str(text)}:
                return self.tree.diff(text) or format_html(CODE, coloured(reveal(text), "diff"))
            case {"type": "diff", "before": before, "after": after}:
                same = quiet("No changes.") if before == after else None
                return same or self.tree.compared(before, after)
            case {"type": "table", "columns": list(columns), "rows": list(rows)}:
                return self._table(columns, rows)
            case {"type": "chart"} if chart := chart_of(block):
                return self._chart(chart)
            case {"type": "kv", "items": dict(items)}:
                return self.tree.block(items)
            case {"type": "json", "value": value}:
                return self.tree.value(value)
            case {"type": "link", "url": str(url)} if is_url(url):
                label = block.get("label")
                return format_html("<p>{}</p>", link(url, label if isinstance(label, str) else ""))
        return None

    def _unknown_block(self, block: Any) -> SafeString:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str):
            html = format_html('<p class="agent-text" dir="auto">{}</p>', reveal(text))
        else:
            html = self.tree.value(without_data(block))
        return format_html("<p>{}</p>{}", quiet(NOT_KNOWN), html)

    def _code(self, text: str, language: Any) -> SafeString:
        self.coloured_left -= len(text)
        is_coloured = isinstance(language, str) and self.coloured_left >= 0
        return coloured(reveal(text), language if is_coloured else "")

    def _table(self, columns: list[Any], rows: list[Any]) -> SafeString | None:
        if not (0 < len(columns) <= MOST_COLUMNS and all(isinstance(row, list) for row in rows)):
            return None
        most = max(0, self.cells_left // len(columns))
        self.cells_left -= min(len(rows), most) * len(columns)
        head = format_html_join("", '<th scope="col">{}</th>', ((_cell(one),) for one in columns))
        body = format_html_join(
            "", "<tr>{}</tr>", ((_row(row, len(columns)),) for row in rows[:most])
        )
        left = len(rows) - most
        self.left_out.count(left, "row of a table")
        more = quiet(f"{left:,} more rows in the raw view") if left > 0 else SafeString()
        return format_html(TABLE, head, body) + more

    def _chart(self, chart: Chart) -> SafeString | None:
        """Renders the drawing with a table of the same figures, which a screen reader reads."""
        self.points_left -= chart.points
        if self.points_left < 0:
            return None
        table = self._table(chart.columns, chart.rows)
        return format_html(CHART, drawn(chart), table)

    def _fields(self, fields: Iterable[Any]) -> SafeString:
        lines = ((reveal(field.label), self.tree.value(_in_words(field.value))) for field in fields)
        return format_html('<dl class="pairs">{}</dl>', format_html_join("", PAIR, lines))


def _row(row: list[Any], width: int) -> SafeString:
    """Returns one cell for each column, even if the agent sent fewer."""
    cells = [*row, *[""] * width][:width]
    return format_html_join("", "{}", ((_data_cell(one),) for one in cells))


def _data_cell(value: Any) -> SafeString:
    return format_html(NUMBER_CELL if isinstance(value, Number) else CELL, _cell(value))


def _cell(value: Any) -> SafeString:
    if isinstance(value, dict | list):
        return quiet("in the raw view")
    text = _in_words(value)
    if len(text) > LONGEST_CELL:
        return format_html(LONG_CELL, reveal(cut(text, LONGEST_CELL)), reveal(text))
    return link(text) if is_url(text) else format_html('<span dir="auto">{}</span>', reveal(text))


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _options(choice: Choice) -> SafeString:
    lines = format_html_join("", "{}", ((_option(option),) for option in choice.options))
    several = quiet(SEVERAL) if choice.is_multiple else SafeString()
    return format_html(OPTIONS, reveal(choice.label), several, lines)


def _option(option: Option) -> SafeString:
    return format_html(
        OPTION,
        reveal(option.label),
        format_html(RECOMMENDED, "recommended") if option.is_recommended else "",
        format_html('<p class="agent-text" dir="auto">{}</p>', reveal(option.text))
        if option.text
        else "",
    )
