"""The kit judges this project's server, and docs/conformance.md has the result.

`make conformance` writes the page: it runs this test with WAKE_WRITE_CONFORMANCE=1.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.check.own_server import judgeable, run_kit

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.system,
]
PAGE = ROOT / "docs" / "conformance.md"
BEGIN, END = "<!-- result: begin -->\n", "<!-- result: end -->\n"


def test_this_server_passes_every_requirement_and_the_page_says_so(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """One run serves all steps, because it takes more than a minute."""
    table = tmp_path / "result.md"
    with judgeable(tmp_path / "data") as (url, options, variables):
        done = run_kit(url, [*options, "--json", "--strict", "--markdown", str(table)], variables)
    assert done.stdout, done.stderr
    verdicts = json.loads(done.stdout)["verdicts"]

    with subtests.test("nothing is broken, and everything is judged"):
        assert {
            verdict["id"]: f"{verdict['result']}: {verdict['reason']} {verdict['exchange']}"
            for verdict in verdicts
            if verdict["party"] == "server" and verdict["result"] != "PASS"
        } == {}
        assert (done.returncode, json.loads(done.stdout)["extensions_without_check"]) == (0, [])
    with subtests.test("no key is in the report"):
        keys = [text for name, text in variables.items() if name.endswith(("KEY", "SECRET"))]
        assert [key for key in keys if key in done.stdout + done.stderr] == []
    with subtests.test("the page is current"):
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        current = f"{before}{BEGIN}\n{table.read_text()}\n{END}{after}"
        if os.environ.get("WAKE_WRITE_CONFORMANCE"):
            PAGE.write_text(current)
        assert PAGE.read_text() == current
