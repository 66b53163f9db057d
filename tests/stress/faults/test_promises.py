"""docs/reliability.md names tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.wake.callbacks.world import HOME

pytestmark = pytest.mark.system

RELIABILITY = (HOME / "docs/reliability.md").read_text()


def test_every_promise_names_an_existing_test() -> None:
    rows = [line for line in RELIABILITY.splitlines() if line.startswith("| ") and "`" in line]
    for row in rows:
        source = ""
        for file, name in re.findall(r"`([\w/]+/test_\w+\.py)`|`(test_\w+)`", row):
            if file:
                source = (HOME / "tests" / file).read_text()
            else:
                assert f"def {name}(" in source, name
    assert len(rows) > 20
