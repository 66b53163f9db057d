"""Each promise of the inbox's design names a browser test that exists."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.browser.promises import PROMISES

HERE = Path(__file__).parent


def test_there_are_39_promises_with_a_test_each() -> None:
    assert len(PROMISES) == 39
    assert len(set(PROMISES.values())) == 39


@pytest.mark.parametrize("promise", PROMISES)
def test_the_test_of_a_promise_exists(promise: str) -> None:
    module, _, test = PROMISES[promise].partition("::")
    tree = ast.parse(next(HERE.rglob(f"test_{module}.py")).read_text())

    assert f"test_{test}" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
