"""Each target of CONTRIBUTING.md is a target of the Makefile."""

from __future__ import annotations

import subprocess

import pytest

from tests.documents.blocks import documented
from tests.wake.server.up import ROOT

pytestmark = pytest.mark.once
# Prints the commands of a target, without running them.
WITHOUT_RUNNING = 'make() { command make --dry-run "$@"; }\n'


def test_each_target_exists() -> None:
    script = documented("CONTRIBUTING.md", "make run ")

    done = subprocess.run(
        ["/bin/bash", "-euc", WITHOUT_RUNNING + script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "manage.py up" in done.stdout
