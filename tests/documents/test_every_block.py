"""Every block of code in the documents runs in a test, or says why it does not."""

from __future__ import annotations

import ast
import json
import tomllib
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.documents.blocks import Block, blocks_of, every_block, run_by_tests

pytestmark = pytest.mark.once


def _json(text: str) -> Any:
    """Parses one value, or one in each line."""
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


# Data are parsed here, which is all that can be run of them.
PARSED: dict[str, Callable[[str], Any]] = {
    "json": _json,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}
# tests/architecture/test_figures.py compares these diagrams with the code.
COMPARED_ELSEWHERE = {"mermaid"}


def looked_at() -> list[Block]:
    return [block for block in every_block() if block.language not in COMPARED_ELSEWHERE]


def runs(block: Block) -> bool:
    return any(block.document == document and words in block.text for document, words in RUN)


RUN = sorted(set(run_by_tests()))


def test_the_blocks_are_found() -> None:
    counted = Counter(block.language for block in every_block())

    assert counted["sh"] > 40
    assert counted["python"] > 15


@pytest.mark.parametrize("block", looked_at(), ids=str)
def test_a_block_runs_in_a_test_or_says_why_not(block: Block) -> None:
    is_run = block.language in PARSED or runs(block)
    assert is_run != bool(block.reason), (
        "No test runs this block. Get it from `documented` in a test that runs it, or write"
        " `<!-- not run: REASON -->` above it."
        if not is_run
        else "A test runs this block, so it needs no `not run`."
    )


@pytest.mark.parametrize(
    "block", [one for one in looked_at() if one.language in PARSED and not one.reason], ids=str
)
def test_data_can_be_parsed(block: Block) -> None:
    assert PARSED[block.language](block.text)


@pytest.mark.parametrize(
    "block", [one for one in every_block() if one.language == "python"], ids=str
)
def test_python_can_be_compiled(block: Block) -> None:
    """Parts of asynchronous programs have `await` outside of a function."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST

    assert compile(block.text, str(block), "exec", flags=flags)


@pytest.mark.parametrize(("document", "words"), RUN)
def test_what_a_test_runs_is_one_block(document: str, words: str) -> None:
    assert len([block for block in blocks_of(document) if words in block.text]) == 1
