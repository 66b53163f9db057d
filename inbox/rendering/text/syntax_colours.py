"""Colours code by syntax. Long code and uncommon languages stay plain."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from pages.characters.directions import isolated
from pages.characters.invisible import name_invisible

# Some lexers take a second for 6 kB of hostile text. Such a lexer can be stopped between two words.
LONGEST = 6_000
BUDGET_SECONDS = 0.08
LANGUAGES = frozenset(
    {"bash", "c", "cpp", "csharp", "css", "docker", "go", "html", "java", "javascript", "js"}
    | {"json", "jsx", "kotlin", "php", "py", "python", "rb", "rs", "ruby", "rust", "scss", "sh"}
    | {"shell", "sql", "swift", "toml", "ts", "tsx", "typescript", "xml", "yaml", "yml"}
)
CLASSES = {
    Comment: "hl-comment",
    Keyword: "hl-keyword",
    Operator.Word: "hl-keyword",
    String: "hl-string",
    Number: "hl-number",
    Name.Function: "hl-name",
    Name.Class: "hl-name",
    Name.Tag: "hl-name",
}
DIFF = frozenset({"diff", "patch"})
SIGNS = {"+": "hl-added", "-": "hl-removed", "@": "hl-comment"}
_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # as in git: no other character ends a line


def coloured(code: str, language: str) -> SafeString:
    """Returns the same text, safe to show and coloured as far as that is quick. Unusual blanks are
    named, because in code they join two words into one."""
    code = name_invisible(code, is_code=True)
    name = language.lower()
    pieces: Iterator[tuple[str, str]] = iter([("", code)])
    if name in DIFF:
        pieces = ((SIGNS.get(line[0], ""), line) for line in _LINE.findall(code))
    elif name in LANGUAGES and len(code) <= LONGEST:
        pieces = _words(code, name)
    runs = groupby(pieces, key=lambda piece: piece[0])
    return format_html_join(
        "", "{}", ((_run(kind, "".join(text for _, text in run)),) for kind, run in runs)
    )


def _run(kind: str, text: str) -> str:
    code = isolated(text, is_code=True)
    return format_html('<span class="{}">{}</span>', kind, code) if kind else code


def _words(code: str, language: str) -> Iterator[tuple[str, str]]:
    """Yields all of the code in order. After the budget, the rest is one piece."""
    tokens = _lexer(language).get_tokens_unprocessed(code)  # the first call takes longer
    deadline = time.thread_time() + BUDGET_SECONDS
    done = 0
    for start, kind, text in tokens:
        if time.thread_time() > deadline:
            break
        yield _class(kind), text
        done = start + len(text)
    yield "", code[done:]


@cache
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language)


@cache
def _class(kind: Any) -> str:
    """Returns the class of the token or of its nearest ancestor: `String.Doc` is a string."""
    while kind is not None and kind not in CLASSES:
        kind = kind.parent
    return CLASSES.get(kind, "")
