"""All subcommands have help, completion and a line of progress in a terminal."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.client.connector.relay import CLIENT
from wake_client.shell.completion import SHELLS
from wake_client.shell.output import ExitStatus
from wake_client.shell.parser import parser
from wake_client.version import __version__

SUBCOMMANDS: list[str] = [
    name for action in parser()._actions if action.choices for name in action.choices
]
PROGRESS = """
import time
from wake_client.shell.output import progress
with progress("Waiting"):
    time.sleep(0.3)
print("done")
"""


def wake(*words: str) -> str:
    command = [sys.executable, "-m", "wake_client", *words]
    return subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_help_shows_an_example_and_the_exit_statuses(name: str) -> None:
    help = wake(name, "--help")

    assert f"wake {name} " in help.partition("usage:")[2].partition("\n")[2] or name == "mcp"
    assert "xit status" in help
    if name not in {"hook", "connect"}:
        assert {each for each in ExitStatus if f"  {each.value} " in help} == set(ExitStatus)


def test_the_version_is_printed() -> None:
    assert wake("--version") == f"wake-client {__version__}\n"


def test_a_bridge_has_no_output_of_its_own() -> None:
    """`wake mcp --json` did nothing."""
    assert "--json" not in wake("mcp", "--help")
    assert "--json" in wake("login", "--help")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_completion_knows_every_subcommand(shell: str) -> None:
    script = wake("completion", shell)

    for name in SUBCOMMANDS:
        assert name in script
    assert "--idempotency-key" in script or "-l idempotency-key" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [("wake dep", ""), ("wake wa", "watch"), ("wake ask --de", "--details --deadline"),
     ("wake hook inst", "install")],
)  # fmt: skip
def test_bash_completes(words: str, expected: str) -> None:
    script = wake("completion", "bash") + (
        f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _wake; "
        'echo "${COMPREPLY[*]}"'
    )

    done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == expected


def test_progress_is_shown_in_a_terminal_alone() -> None:
    command = [sys.executable, "-c", PROGRESS]
    piped = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=True)
    terminal, child = pty.openpty()
    process = subprocess.Popen(command, cwd=CLIENT, stdout=child, stderr=child)
    os.close(child)
    printed = b""
    until = time.monotonic() + 30
    while b"done\r\n" not in printed and time.monotonic() < until:
        printed += os.read(terminal, 1000)
    process.wait(timeout=30)
    os.close(terminal)

    assert (piped.stdout, piped.stderr) == ("done\n", "")
    assert b"Waiting 0:00" in printed
    assert printed.endswith(b"\r\x1b[Kdone\r\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "There is no command to run."), (["--", "claude"], "Claude Code resumes only what -p")],
)
def test_a_missing_command_is_answered_with_the_next_step(words: list[str], said: str) -> None:
    command = [sys.executable, "-m", "wake_client", "run", *words]

    done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=False)

    assert done.returncode == ExitStatus.USAGE
    assert done.stderr.startswith(f"wake run: {said}")
    assert 'wake run -- claude -p "Publish the package"' in done.stderr
    assert "usage:" not in done.stderr


def test_wrong_words_are_a_usage_error() -> None:
    for words in (["ask", "a"], ["nothing"], ["check", "x", "--", "y"], ["check", "x", "--loud"]):
        command = [sys.executable, "-m", "wake_client", *words]
        done = subprocess.run(
            command, cwd=CLIENT, capture_output=True, text=True, check=False,
            env={"PATH": os.environ["PATH"], "HOME": str(Path("/nowhere"))},
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (2, ""), words
