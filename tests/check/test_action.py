"""The GitHub Action passes its inputs to the kit, and fails as the kit does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.architecture.sources import ROOT

ACTION = yaml.safe_load((ROOT / "check" / "action.yml").read_text())
INSTALL, JUDGE = ACTION["runs"]["steps"]
# Stands in for the kit: prints its arguments and its keys, and writes the page.
KIT = f"""#!{sys.executable}
import os, pathlib, sys
print(*sys.argv[1:], os.environ["WAKE_API_KEY"], sep="|")
pathlib.Path(sys.argv[sys.argv.index("--markdown") + 1]).write_text("the page")
sys.exit(int(os.environ["KIT_STATUS"]))
"""


def run(folder: Path, *, status: int = 0, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs the second step as a runner does, with a stand-in for the installed kit."""
    kit = folder / "wake-check" / "bin" / "wake-check"
    kit.parent.mkdir(parents=True)
    kit.write_text(KIT)
    kit.chmod(0o755)
    given = {name: row.get("default", "") for name, row in ACTION["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    variables = {
        name: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: given[found[1]], value)
        for name, value in JUDGE["env"].items()
    }
    runner = {
        "PATH": os.environ["PATH"],
        "RUNNER_TEMP": str(folder),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "KIT_STATUS": str(status),
    }
    return subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", JUDGE["run"]],
        env={**runner, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("status", [0, 1, 2])
def test_the_job_ends_as_the_kit_does(tmp_path: Path, status: int) -> None:
    done = run(tmp_path, status=status, url="https://wake.example.com", api_key="wk_live_x")

    assert done.returncode == status
    assert done.stdout.startswith("https://wake.example.com|--driver|none|--junit|wake-check.xml|")
    assert done.stdout.endswith("|wk_live_x\n")
    assert (tmp_path / "summary").read_text() == "the page"


def test_options_that_are_given_are_passed_on(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        url="https://wake.example.com/$(touch no)",
        other_agent_id="writer",
        callback_url="https://tunnel.example.com",
        strict="true",
    )

    assert (
        "|--other-agent|writer|--callback-url|https://tunnel.example.com|--strict|" in done.stdout
    )
    assert "$(touch no)" in done.stdout


def test_every_input_is_used() -> None:
    used = " ".join(JUDGE["env"].values())

    assert set(re.findall(r"inputs\.([a-z-]+)", used)) == ACTION["inputs"].keys()
    assert "${{" not in JUDGE["run"] + INSTALL["run"]
