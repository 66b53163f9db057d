"""Renders content from agents as HTML that is safe to show. Nothing else prints such content.

Text passes through three steps: invisible characters are named, markdown-it renders it (no HTML, no
images), and bleach filters it by an explicit allowlist. bleach is past its end of life, so three
measures limit the risk: bleach only sees HTML that markdown-it made, a test compares its output
with that of nh3, and the page has a content policy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import bleach
from django.utils.safestring import SafeString, mark_safe
from markdown_it.token import Token

from inbox.rendering.blocks import blocks_in
from inbox.rendering.blocks_html import blocks_html
from inbox.rendering.diffs.diff_html import diff_html
from inbox.rendering.diffs.unified_diffs import unified
from inbox.rendering.files import Files, inline_data, name_unseen, text_length
from inbox.rendering.json_text import indented, read
from inbox.rendering.left_out import LeftOut
from inbox.rendering.render_cache import cached
from inbox.rendering.text import markdown_html
from inbox.rendering.text.links import ABSOLUTE
from inbox.rendering.text.markdown import (
    ALIGNED,
    TASK_ITEM,
    finished,
    parsed,
    parser,
    shows_everything,
)
from inbox.rendering.text.syntax_colours import CLASSES, SIGNS
from inbox.rendering.tree import count_cut_lines, tree
from pages.characters.invisible import reveal, reveal_value

RAW, FORMATTED = "raw", "formatted"
LEFT_OUT = "left_out"
MAX_SAID, LONGEST_SAID = 50, 300  # limits of the list of parts that the sender left out
FORMATTED_AT_ONCE = 20_000
MAX_SHOWN = 200_000
LONG = 3_000
# A page of prose has a few hundred tokens. A hostile table of 20 kB has 26,000, and takes bleach a
# second.
MAX_TOKENS = 8_000
MAX_TOKENS_WHEN_ASKED = 20_000
# Characters that can start inline markup, a line or a cell. The parser tries each of them, for up
# to a tenth of a millisecond, even if no token results: 195 kB of "![" took 15 seconds.
MARK = re.compile(r"[\[\]!*_~`<&\\|\n]")
MAX_HTML = 400_000

TAGS = frozenset(
    {
        "a",
        "bdi",
        "blockquote",
        "br",
        "code",
        "em",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "small",
        "strong",
        "sup",
    }
    | {"h3", "h4", "h5", "h6", "span", "table", "tbody", "td", "th", "thead", "tr", "ul"}
)
CLASSES_OF_SPANS = {*CLASSES.values(), *SIGNS.values(), markdown_html.MARK, markdown_html.SPACES}
# Surrounds every table, so that a wide table scrolls and the page does not.
TABLE = '<div class="scroll" tabindex="0" role="group" aria-label="Table">'
CELLS = set(ALIGNED.values())


NOTHING = SafeString()


@dataclass(frozen=True, slots=True)
class RenderedDetails:
    """Holds the content of the frame: `html` if it could be formatted, or `plain`; neither if it is
    too long for a page. `left_out` names each part that the frame does not show, and where to see
    it. `left_out` is empty if every character is in sight."""

    html: SafeString = NOTHING
    plain: str = ""
    length: int = 0
    may_be_formatted: bool = False
    is_json: bool = False  # True if `plain` is JSON
    left_out: tuple[str, ...] = ()
    has_all_text: bool = True  # False only if text is left out; files do not count

    @property
    def is_long(self) -> bool:
        return self.length > LONG

    @property
    def is_too_long(self) -> bool:
        return self.length > MAX_SHOWN

    @property
    def size(self) -> str:
        return _size(self.length)


def _size(length: int) -> str:
    return f"{length / 1000:.0f} kB" if length >= 1000 else f"{length} bytes"


def render(
    details_json: str | None,
    *,
    asked_for: str = "",
    inputs_apart: bool = False,
    files: Files | None = None,
) -> RenderedDetails | None:
    """Returns the rendered details, or None if there are none. `asked_for` is the reader's choice:
    `raw`, `formatted` or neither. `inputs_apart` leaves choices and fields out. `files` are the
    pictures and files of the delivery."""
    if details_json is None:
        return None
    if asked_for not in {RAW, FORMATTED}:
        asked_for = ""
    view = f"{asked_for}-without-inputs" if inputs_apart else asked_for
    return cached(
        details_json,
        asked_for=f"{view}:{files.key}" if files else view,
        make=lambda: _rendered(details_json, asked_for, inputs_apart=inputs_apart, files=files),
    )


def shows_all_text(details_json: str) -> bool:
    """Returns whether the page shows every text of some details. Pictures and files do not
    count."""
    rendered = render(details_json)
    return rendered is None or rendered.has_all_text


def _rendered(
    details_json: str, asked_for: str, *, inputs_apart: bool, files: Files | None
) -> RenderedDetails:
    value = read(details_json)
    text = value if isinstance(value, str) else details_json
    length = len(text.encode())
    if files and asked_for != RAW:
        length -= sum(len(data) - text_length(data) for data in inline_data(blocks_in(value)))
    if length > MAX_SHOWN:
        whole = f"Details of {_size(length)}, too long for a page: download them"
        return RenderedDetails(length=length, left_out=(whole,), has_all_text=False)
    if asked_for == RAW:
        raw = text if isinstance(value, str) else indented(text)
        left_out = LeftOut()
        name_unseen(blocks_in(value), left_out)
        _name_what_was_left_out(value, left_out)
        return RenderedDetails(
            plain=reveal_value(raw),
            length=length,
            may_be_formatted=True,
            is_json=not isinstance(value, str),
            left_out=left_out.phrases,
        )
    if not isinstance(value, str):
        is_asked_for = asked_for == FORMATTED
        return _of_object(
            value, length, is_asked_for=is_asked_for, inputs_apart=inputs_apart, files=files
        )
    if diff := unified(text):
        left_out = LeftOut()
        count_cut_lines(diff, left_out)
        html = diff_html(diff, label="Changes")
        return RenderedDetails(
            html=html,
            length=length,
            left_out=left_out.phrases,
            has_all_text=not left_out.has_text,
        )
    if length > FORMATTED_AT_ONCE and asked_for != FORMATTED:
        return RenderedDetails(plain=reveal_value(text), length=length, may_be_formatted=True)
    most = MAX_TOKENS_WHEN_ASKED if asked_for == FORMATTED else MAX_TOKENS
    html = formatted(text, most_tokens=most)
    return RenderedDetails(html=html, plain="" if html else reveal_value(text), length=length)


def _of_object(
    value: dict[str, Any],
    length: int,
    *,
    is_asked_for: bool,
    inputs_apart: bool,
    files: Files | None,
) -> RenderedDetails:
    blocks = blocks_in(value)
    left_out = LeftOut()
    if blocks is None:
        html = tree(value, left_out)
        return RenderedDetails(
            html=html,
            length=length,
            left_out=left_out.phrases,
            has_all_text=not left_out.has_text,
        )
    markdown = _Markdown(is_asked_for=is_asked_for)
    shown_apart = {"wake_blocks", "blocks", *_name_what_was_left_out(value, left_out)}
    html = blocks_html(
        blocks,
        markdown=markdown,
        inputs_apart=inputs_apart,
        files=files,
        left_out=left_out,
        beside={name: one for name, one in value.items() if name not in shown_apart},
    )
    return RenderedDetails(
        html=html,
        length=length,
        may_be_formatted=markdown.is_left_plain,
        left_out=left_out.phrases,
        has_all_text=not left_out.has_text,
    )


def _name_what_was_left_out(value: Any, left_out: LeftOut) -> set[str]:
    """Names the parts that were left out of typed blocks, as the sender reports. Returns the names
    of the members with these reports."""
    phrases = value.get(LEFT_OUT) if blocks_in(value) is not None else None
    if not isinstance(phrases, list) or not 0 < len(phrases) <= MAX_SAID:
        return set()
    if not all(isinstance(one, str) and 0 < len(one) <= LONGEST_SAID for one in phrases):
        return set()
    for phrase in phrases:
        left_out.name(reveal(phrase))
    return {LEFT_OUT}


class _Markdown:
    """Formats the markdown of several blocks within one budget."""

    def __init__(self, *, is_asked_for: bool) -> None:
        self.length_left = MAX_SHOWN if is_asked_for else FORMATTED_AT_ONCE
        self.tokens_left = MAX_TOKENS_WHEN_ASKED if is_asked_for else MAX_TOKENS
        self.marks_left = self.tokens_left
        self.is_left_plain = False

    def __call__(self, text: str) -> SafeString:
        self.length_left -= len(text)
        if self.length_left < 0:
            self.is_left_plain = True
            return NOTHING
        self.marks_left -= _marks(text)
        if self.marks_left < 0:
            return NOTHING
        tokens = parsed(text)
        self.tokens_left -= _count(tokens)
        return _html(text, tokens) if self.tokens_left >= 0 else NOTHING


def formatted(text: str, *, most_tokens: int = MAX_TOKENS) -> SafeString:
    """Returns markdown as safe HTML. Returns an empty text if the markdown is too complex to format
    quickly, or if the HTML would not show all of it."""
    if _marks(text) > most_tokens:
        return NOTHING
    tokens = parsed(text)
    return _html(text, tokens) if _count(tokens) <= most_tokens else NOTHING


def _marks(text: str) -> int:
    return sum(1 for _ in MARK.finditer(text))


def _count(tokens: list[Token]) -> int:
    return sum(1 + len(token.children or ()) for token in tokens)


def _html(text: str, tokens: list[Token]) -> SafeString:
    tokens = finished(tokens)
    html = parser.renderer.render(tokens, parser.options, {})
    if len(html) > MAX_HTML or not shows_everything(text, tokens):
        return NOTHING
    clean = bleach.clean(
        html, tags=TAGS, attributes=_is_allowed, protocols=["http", "https", "mailto"]
    )
    framed = clean.replace("<table>", f"{TABLE}<table>").replace("</table>", "</table></div>")
    return mark_safe(framed)  # noqa: S308 - only here; the module lists the checks before it


def _is_allowed(tag: str, name: str, value: str) -> bool:
    if tag == "a":
        return name == "rel" or (name == "href" and bool(ABSOLUTE.match(value)))
    if tag == "span":
        return name == "class" and value in CLASSES_OF_SPANS
    if tag in {"td", "th"}:
        return name == "class" and value in CELLS
    if tag == "li":
        return (name == "class" and value == TASK_ITEM) or name == "value"
    return tag == "ol" and name == "start"
