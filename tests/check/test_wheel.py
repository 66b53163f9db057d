"""The wheel has the command, the requirement sets and the license."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.fixtures import peers
from wake_check.requirements import REVISIONS

HATCHLING = ROOT / "tests" / "client" / "peers" / "hatchling"
pytestmark = [pytest.mark.system, pytest.mark.slow]


def test_the_wheel_is_whole(tmp_path: Path) -> None:
    command = [*peers.command(HATCHLING), str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT / "check", capture_output=True, text=True, check=True)
    with zipfile.ZipFile(tmp_path / built.stdout) as archive:
        names = archive.namelist()
        (entry_points,) = [name for name in names if name.endswith("entry_points.txt")]
        commands = archive.read(entry_points).decode()

    assert "wake-check = wake_check.__main__:main" in commands
    assert {f"wake_check/revisions/{revision}.toml" for revision in REVISIONS} <= set(names)
    assert "wake_check/py.typed" in names
    assert [name for name in names if name.endswith("licenses/LICENSE")]
