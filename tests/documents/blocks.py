"""Finds the blocks of code in the documents, and the tests that run them.

A test that runs a block gets its text from `documented`. So the calls of `documented` in the tests
are the list of all blocks that run. Any other block has a comment in the line above it: `<!-- not
run: REASON -->`.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.wake.server.up import ROOT

OUTSIDE_OF_DOCS = (
    *("README.md", "CONTRIBUTING.md", "check/README.md", "client/README.md"),
    "client-js/README.md",
)
DOCUMENTS = sorted([*(ROOT / name for name in OUTSIDE_OF_DOCS), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>(?:(?!-->).)+) -->\n\n?)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A block of code. `reason` says why no test runs it, or is empty."""

    document: str
    line: int
    language: str
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


@cache
def blocks_of(document: str) -> list[Block]:
    text = (ROOT / document).read_text()
    return [
        Block(
            document=document,
            line=text.count("\n", 0, match.start("language")) + 1,
            language=match["language"],
            text=textwrap.dedent(match["text"]),
            reason=" ".join((match["reason"] or "").split()),
        )
        for match in BLOCK.finditer(text)
    ]


def every_block() -> list[Block]:
    return [block for path in DOCUMENTS for block in blocks_of(str(path.relative_to(ROOT)))]


def documented(document: str, words: str) -> str:
    """Returns the text of the only block of the document that contains these words. Both arguments
    are literal strings, so that `run_by_tests` finds the call."""
    [block] = [block for block in blocks_of(document) if words in block.text]
    return block.text


def run_by_tests() -> Iterator[tuple[str, str]]:
    """Yields the arguments of each call of `documented` in the tests."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text()
        if "documented(" in source:
            yield from _calls(path, source)


def _calls(path: Path, source: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Name(id="documented"),
                args=[ast.Constant(value=str(document)), ast.Constant(value=str(words))],
            ):
                yield document, words
            case ast.Call(func=ast.Name(id="documented")):
                raise ValueError(f"{path}:{node.lineno}: the arguments are not literal strings.")
