"""Reads the command line of `wake-check`, and the environment."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from wake_check import __version__
from wake_check.requirements import REVISIONS
from wake_check.server import OTHER, OWN, TEST, Keys

SECRET = "WAKE_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
AGENT = "WAKE_AGENT_ID"
DRIVERS = ("terminal", "wake")
DEFAULT_PORT = 8787
EPILOG = f"""\
environment:
  {OWN}             the key of the agent under whose name the kit delivers (wk_live_...)
  {AGENT}            the id of this agent
  {SECRET}      the signing secret of its callbacks (whsec_...)
  {OTHER}     the key of another agent
  {TEST}      a test key (wk_test_...) that was not used within the last hour
  SSL_CERT_FILE            the certificates to trust, for a server with its own authority
  A check that needs what is not there is NOT JUDGED.

exit status:
  0  no requirement of the levels must and extension is broken (with --strict: of any level)
  1  a requirement is broken
  2  the kit itself failed: for example, the server does not answer, or refuses the key

examples:
  wake-check https://wake.example.com
  wake-check http://127.0.0.1:8000 --driver wake --junit result.xml
"""


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "wake-check",
        description="Judges whether the server at URL implements the WAKE protocol.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    parser.add_argument("--version", action="version", version=f"wake-check {__version__}")
    add("url", metavar="URL", help="the server, with or without /wake/v1")
    add("--agent", metavar="ID", help=f"the agent's id; {AGENT} unless given")
    add("--other-agent", metavar="ID", help=f"the id of the agent of {OTHER}", default="")
    add(
        "--driver",
        metavar="COMMAND",
        help="the person who answers: terminal (asks you), wake (answers in an inbox of Wake), "
        "none, or a command. Without this option: terminal if there is one, otherwise none",
    )
    add(
        "--patience", type=float, default=None, metavar="SECONDS", help="how long a person may take"
    )
    add("--callback-port", type=int, default=DEFAULT_PORT, metavar="PORT", help="for callbacks")
    add("--callback-host", default="127.0.0.1", metavar="HOST", help="the address to listen on")
    add("--callback-url", default="", metavar="URL", help="where the server reaches the receiver")
    add("--plain-http", default="", metavar="URL", help="where the server must refuse plain HTTP")
    add("--revision", choices=REVISIONS, default=REVISIONS[-1], help="the requirement set")
    add("--strict", action="store_true", help="exit with 1 for a broken requirement of any level")
    add("--all", action="store_true", help="print every verdict, not only FAIL and NOT JUDGED")
    add("--json", action="store_true", help="print the verdicts as JSON")
    add("--junit", type=Path, metavar="FILE", help="also write the verdicts as JUnit XML")
    add("--markdown", type=Path, metavar="FILE", help="also write the verdicts as a Markdown page")
    return parser


def keys_of(variables: Mapping[str, str]) -> Keys:
    return Keys({name: variables.get(name, "") for name in (OWN, OTHER, TEST)})


def driver_command(name: str | None) -> Sequence[str]:
    """Returns the command of the driver. An empty command means that no one answers."""
    if name is None:
        name = "terminal" if _has_terminal() else "none"
    if name in DRIVERS:
        return [sys.executable, "-m", f"wake_check.drivers.{name}"]
    return [] if name == "none" else shlex.split(name)


def _has_terminal() -> bool:
    try:
        os.close(os.open(os.ctermid(), os.O_RDWR | os.O_NOCTTY))
    except (OSError, AttributeError):  # Windows has no ctermid
        return False
    return True
