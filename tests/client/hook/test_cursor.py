"""Cursor's command line runs a call whose hook prints nothing, so the hook always decides."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.connector.relay import CLIENT
from tests.client.hook.running import FIXTURES


@pytest.mark.parametrize(
    ("agent", "name", "status"),
    [
        ("cursor", "cursor-before-shell-execution", 2),
        ("claude-code", "claude-code-permission-request", 0),
    ],
)
def test_a_decision_that_cannot_be_printed_blocks_a_call_of_cursor(
    agent: str, name: str, status: int, tmp_path: Path
) -> None:
    """The exit status used to be 0, which together with no output meant "allow"."""
    hook = f"{sys.executable} -m wake_client hook --for {agent} >&-"

    done = subprocess.run(
        ["/bin/sh", "-c", hook],
        cwd=CLIENT,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        input=json.dumps(FIXTURES[name]["input"]),
        text=True,
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (status, "")
