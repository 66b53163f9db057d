"""Renders typed blocks as HTML. Shows an unknown or malformed block as text or JSON, and never
fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from inbox.rendering.blocks import (
    MAX_BLOCKS,
    Choice,
    Control,
    FieldBlock,
    Option,
    controls,
    others,
    others_of_control,
)
from inbox.rendering.charts import Chart, chart_of, drawn
from inbox.rendering.files import FileBlocks, Files, without_data
from inbox.rendering.json_text import Number
from inbox.rendering.left_out import LeftOut
from inbox.rendering.repeated import repeats
from inbox.rendering.text.links import is_url
from inbox.rendering.text.syntax_colours import coloured
from inbox.rendering.tree import CELL, NUMBER_CELL, TABLE, Tree, blanks, link, quiet
from pages.characters.directions import isolated
from pages.characters.invisible import reveal_value

MAX_CELLS = 3_000
MAX_COLUMNS = 30
MAX_COLOURED_CODE = 12_000
MAX_CHART_POINTS = 3_000
PRE = '<pre dir="auto">{}</pre>'
CODE = "<pre><code>{}</code></pre>"
CHART = (
    '<div class="chart-frame">{}<details class="fold" open><summary>Table</summary>{}</details>'
    "</div>"
)
LARGE_CHART = (
    '<div class="chart-frame">{}<details class="fold"><summary>Table of {} figures</summary>{}'
    "</details></div>"
)
MAX_OPEN_POINTS = 200  # in all charts; with more points, their tables of figures are folded
OPTIONS = '<div class="options"><p class="options__label" dir="auto">{}{}</p>{}<ul>{}</ul></div>'
SEVERAL = "Any number of these:"
OPTION = '<li><b dir="auto">{}</b>{} {}{}</li>'
RECOMMENDED = '<span class="chip">{}</span>'
PAIR = '<div><dt><bdi dir="auto">{}</bdi>{}</dt><dd>{}</dd></div>'
TITLED = '<h3 dir="auto">{}</h3>{}'
ID = ' <small class="id" dir="auto">{}</small>'
SECTION = '<section class="block">{}</section>'
OTHERS = '<p class="quiet">{}</p>{}'
OTHER_MEMBERS = "Other members of this block:"
BESIDE = "Sent beside the blocks:"
PROPOSAL = "proposal"
# The sentence names the members that the proposal repeats, because no value may be without a name.
REPEATED = '<p class="quiet">The proposal has the values above: <bdi dir="auto">{}</bdi></p>'
NOT_KNOWN = "This block could not be displayed as intended:"

Markdown = Callable[[str], SafeString]
Known = tuple[SafeString, dict[str, Any]]


def blocks_html(
    blocks: list[Any],
    *,
    markdown: Markdown,
    inputs_apart: bool = False,
    files: Files | None = None,
    left_out: LeftOut,
    beside: dict[str, Any],
) -> SafeString:
    """Renders the blocks, and the members `beside` them. `markdown` returns an empty text for
    content that it cannot format quickly. `inputs_apart` leaves out choices and fields, which the
    page shows as inputs. Without `files`, image and file blocks are shown as unknown."""
    renderer = _BlocksRenderer(
        markdown, controls(blocks), inputs_apart=inputs_apart, files=files, left_out=left_out
    )
    sections = format_html_join("", SECTION, ((one,) for one in renderer.sections(blocks)))
    rest = len(blocks) - MAX_BLOCKS
    left_out.count(rest, "block")
    if rest > 0:
        sections += quiet(f"{rest:,} more blocks in the raw view")
    if not left_out.has_text and repeats(beside.get(PROPOSAL), blocks):
        names = ", ".join(map(reveal_value, beside[PROPOSAL]))
        sections += format_html(SECTION, format_html(REPEATED, names))
        beside = {name: one for name, one in beside.items() if name != PROPOSAL}
    if beside:
        sections += format_html(SECTION, renderer.named(BESIDE, beside))
    return sections


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
        self.cells_left = MAX_CELLS
        self.coloured_left = MAX_COLOURED_CODE
        self.points_left = MAX_CHART_POINTS
        self.open_points_left = MAX_OPEN_POINTS

    def sections(self, blocks: list[Any]) -> Iterator[SafeString]:
        """Yields the blocks. Consecutive fields become one list."""
        numbered = ((self.controls.get(place), one) for place, one in enumerate(blocks))
        limited = islice(numbered, MAX_BLOCKS)
        for are_fields, run in groupby(limited, key=lambda pair: isinstance(pair[0], FieldBlock)):
            if are_fields:
                yield from self._run_of_fields([(control, block) for control, block in run])
            else:
                yield from filter(None, (self._section(control, block) for control, block in run))

    def named(self, words: str, members: dict[str, Any]) -> SafeString:
        """Renders members below a line that describes them. Returns an empty text if there are
        none."""
        return format_html(OTHERS, words, self.tree.block(members)) if members else SafeString()

    def _run_of_fields(self, run: list[tuple[Any, Any]]) -> Iterator[SafeString]:
        if not self.inputs_apart:
            yield self._fields(control for control, _ in run)
        yield from filter(None, (self._others_of_control(control, block) for control, block in run))

    def _others_of_control(self, control: Control, block: dict[str, Any]) -> SafeString:
        words = f"Other members of “{reveal_value(control.label or control.name)}”:"
        return self.named(words, others_of_control(block, control))

    def _section(self, control: Control | None, block: Any) -> SafeString:
        if isinstance(control, Choice):
            options = SafeString() if self.inputs_apart else _options(control)
            return options + self._others_of_control(control, block)
        title = block.get("title") if isinstance(block, dict) else None
        if (known := self._file(block) or self._known_block(block)) is None:
            return self._unknown_block(block)
        html, members = known
        if isinstance(title, str):
            members.pop("title", None)
            html = format_html(TITLED, isolated(reveal_value(title)), html) if title else html
        return html + self.named(OTHER_MEMBERS, members)

    def _file(self, block: Any) -> Known | None:
        if self.files is None or (html := self.files.html(block)) is None:
            return None
        return html, self.files.others(block)

    def _known_block(self, block: Any) -> Known | None:
        """Returns the HTML of a block, and the members that the HTML does not show, or None for an
        unknown, malformed or too large block."""
        html: SafeString | None = None
        shown: tuple[str, ...] = ()
        match block:
            case {"type": "markdown", "text": str(text)}:
                html, shown = (
                    self.markdown(text) or format_html(PRE, isolated(reveal_value(text))),
                    ("text",),
                )
            case {"type": "text", "text": str(text)}:
                html, shown = _text(text), ("text",)
            case {"type": "code", "text": str(text), "language": str(language)}:
                code = format_html(CODE, self._code(text, language))
                html, shown = quiet(reveal_value(language)) + code, ("text", "language")
            case {"type": "code", "text": str(text)}:
                html, shown = format_html(CODE, self._code(text)), ("text",)
            case {"type": "diff", "text": str(text)}:
                plain = format_html(CODE, coloured(reveal_value(text, is_code=True), "diff"))
                html, shown = self.tree.diff(text) or plain, ("text",)
            case {"type": "diff", "before": before, "after": after}:
                html, shown = self._compared(before, after), ("before", "after")
            case {"type": "table", "columns": list(columns), "rows": list(rows)}:
                html, shown = self._table(columns, rows), ("columns", "rows")
            case {"type": "chart"} if chart := chart_of(block):
                html = self._chart(chart)
                return (html, chart.others) if html else None
            case {"type": "kv", "items": dict(items)}:
                html, shown = self.tree.block(items), ("items",)
            case {"type": "json", "value": value}:
                html, shown = self.tree.value(value), ("value",)
            case {"type": "link", "url": str(url), "label": str(label)} if is_url(url):
                html, shown = format_html("<p>{}</p>", link(url, label)), ("url", "label")
            case {"type": "link", "url": str(url)} if is_url(url):
                html, shown = format_html("<p>{}</p>", link(url)), ("url",)
        return (html, others(block, *shown)) if html else None

    def _unknown_block(self, block: Any) -> SafeString:
        note = format_html("<p>{}</p>", quiet(NOT_KNOWN))
        if isinstance(block, str):
            return note + _text(block)
        if isinstance(block, dict) and isinstance(text := block.get("text"), str):
            rest = {name: value for name, value in block.items() if name != "text"}
            rest = without_data(rest, self.left_out)
            return note + _text(text) + self.named(OTHER_MEMBERS, rest)
        return note + self.tree.value(without_data(block, self.left_out))

    def _compared(self, before: Any, after: Any) -> SafeString | None:
        if before == after:
            return format_html("<p>{}</p>{}", quiet("No changes:"), self.tree.value(before))
        return self.tree.compared(before, after)

    def _code(self, text: str, language: str = "") -> SafeString:
        if _is_blank(text):
            return quiet(blanks(text))
        self.coloured_left -= len(text)
        return coloured(
            reveal_value(text, is_code=True), language if self.coloured_left >= 0 else ""
        )

    def _table(self, columns: list[Any], rows: list[Any]) -> SafeString | None:
        if not columns or not all(isinstance(row, list) for row in rows):
            return None
        # A row may have more cells than there are columns.
        width = max(len(columns), *map(len, rows)) if rows else len(columns)
        if width > MAX_COLUMNS:
            return None
        most = max(0, self.cells_left // width)
        self.cells_left -= min(len(rows), most) * width
        heads = [*columns, *[""] * width][:width]
        head = format_html_join("", '<th scope="col">{}</th>', ((self._cell(h),) for h in heads))
        body = format_html_join(
            "", "<tr>{}</tr>", ((self._row(row, width),) for row in rows[:most])
        )
        left = len(rows) - most
        self.left_out.count(left, "row of a table")
        more = quiet(f"{left:,} more rows in the raw view") if left > 0 else SafeString()
        return format_html(TABLE, head, body) + more

    def _chart(self, chart: Chart) -> SafeString | None:
        """Renders the drawing with a table of the same figures, for screen readers."""
        self.points_left -= chart.points
        if self.points_left < 0:
            return None
        table = self._table(chart.columns, chart.rows)
        self.open_points_left -= chart.points
        if self.open_points_left >= 0:
            return format_html(CHART, drawn(chart), table)
        self.left_out.count(chart.points, "figure of a chart", where="in its table")
        return format_html(LARGE_CHART, drawn(chart), f"{chart.points:,}", table)

    def _fields(self, fields: Iterable[Any]) -> SafeString:
        lines = (
            (
                isolated(reveal_value(field.label)),
                _id(field.shown_name),
                self.tree.value(_in_words(field.value)),
            )
            for field in fields
        )
        return format_html('<dl class="pairs">{}</dl>', format_html_join("", PAIR, lines))

    def _row(self, row: list[Any], width: int) -> SafeString:
        """Returns one cell for each column, even if the agent sent fewer."""
        cells = [*row, *[""] * width][:width]
        return format_html_join("", "{}", ((self._data_cell(one),) for one in cells))

    def _data_cell(self, value: Any) -> SafeString:
        return format_html(NUMBER_CELL if isinstance(value, Number) else CELL, self._cell(value))

    def _cell(self, value: Any) -> SafeString:
        if isinstance(value, dict | list):
            return self.tree.value(value)
        text = _in_words(value)
        if _is_blank(text):
            return quiet(blanks(text))
        is_address = is_url(text)
        return (
            link(text)
            if is_address
            else format_html('<span dir="auto">{}</span>', isolated(reveal_value(text)))
        )


def _text(text: str) -> SafeString:
    if _is_blank(text):
        return format_html("<p>{}</p>", quiet(blanks(text)))
    return format_html('<p class="agent-text" dir="auto">{}</p>', isolated(reveal_value(text)))


def _is_blank(text: str) -> bool:
    return bool(text) and not text.strip()


def _id(id: str) -> SafeString:
    return format_html(ID, reveal_value(id)) if id else SafeString()


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _options(choice: Choice) -> SafeString:
    lines = format_html_join("", "{}", ((_option(option),) for option in choice.options))
    several = quiet(SEVERAL) if choice.is_multiple else SafeString()
    return format_html(
        OPTIONS, isolated(reveal_value(choice.label)), _id(choice.shown_name), several, lines
    )


def _option(option: Option) -> SafeString:
    return format_html(
        OPTION,
        isolated(reveal_value(option.label)),
        _id(option.shown_id),
        format_html(RECOMMENDED, "recommended") if option.is_recommended else "",
        format_html('<p class="agent-text" dir="auto">{}</p>', isolated(reveal_value(option.text)))
        if option.text
        else "",
    )
