"""Writes the HTML of markdown's inline tokens. Shows each mark of emphasis beside the words that it
formats, and isolates right-to-left text so that it moves no other text.

A mark of emphasis is shown because a shell reads it: `rm *a b*` is another command than `rm a b`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.html import conditional_escape
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pages.characters.directions import goes_left, isolated, isolated_in_line

MARK = "emphasis-mark"
EMPHASIS = ("em", "strong", "s")
GOES_LEFT = "goes_left"
BREAKS = {"softbreak", "hardbreak"}
SPACES = "spaces"  # a browser would draw one space
_SPACES = re.compile(r" {2,}|\t+")


def set_rules(parser: MarkdownIt) -> None:
    for name in EMPHASIS:
        parser.add_render_rule(f"{name}_open", _opened)
        parser.add_render_rule(f"{name}_close", _closed)
    parser.add_render_rule("text", _text)
    parser.add_render_rule("code_inline", _code_inline)
    parser.add_render_rule("code_block", _code_block)


def set_directions(tokens: Iterable[Token]) -> None:
    """Marks each text whose line goes from right to left. As in a browser, the first letter outside
    of code decides the direction."""
    for token in tokens:
        for line in _lines(token.children or []):
            texts = [child for child in line if child.type == "text"]
            if goes_left("".join(child.content for child in texts)):
                for child in texts:
                    child.meta[GOES_LEFT] = True


def _lines(children: list[Token]) -> Iterator[list[Token]]:
    line: list[Token] = []
    for child in children:
        if child.type in BREAKS:
            yield line
            line = []
        else:
            line.append(child)
    yield line


def _opened(_renderer: Any, tokens: list[Token], place: int, *_: Any) -> str:
    return f"{_mark(tokens[place])}<{tokens[place].tag}>"


def _closed(_renderer: Any, tokens: list[Token], place: int, *_: Any) -> str:
    return f"</{tokens[place].tag}>{_mark(tokens[place])}"


def _mark(token: Token) -> str:
    return f'<span class="{MARK}">{token.markup}</span>'


def _text(_renderer: Any, tokens: list[Token], place: int, *_: Any) -> str:
    token = tokens[place]
    html = _html(isolated_in_line(token.content, is_left=token.meta.get(GOES_LEFT, False)))
    return _SPACES.sub(rf'<span class="{SPACES}">\g<0></span>', html)


def _code_inline(_renderer: Any, tokens: list[Token], place: int, *_: Any) -> str:
    return f"<code>{_code(tokens[place])}</code>"


def _code_block(_renderer: Any, tokens: list[Token], place: int, *_: Any) -> str:
    return f"<pre><code>{_code(tokens[place])}</code></pre>\n"


def _code(token: Token) -> str:
    return _html(isolated(token.content, is_code=True))


def _html(text: str) -> str:
    """Escapes text that is not HTML yet. Writes `'` in the same way as the parser and bleach."""
    return conditional_escape(text).replace("&#x27;", "'")
