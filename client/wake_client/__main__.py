"""Runs the command line, as `wake` or `python -m wake_client`."""

from __future__ import annotations

import io
import logging
import os
import sys
from typing import Any

from wake_client.hook import cli as hook
from wake_client.shell import parser as shell
from wake_client.shell.output import ExitStatus
from wake_client.visible_text import indented, visible


def main() -> int:
    # A terminal may be unable to print a letter, which must not end the command.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.argv[1:2] == ["hook"]:  # agents read the hook's output, so it has no usage errors
        return hook.main(sys.argv[2:], os.environ)
    own_arguments, command = _split(sys.argv[1:])
    arguments, unknown = shell.parser().parse_known_args(own_arguments)
    _log_to_stderr()
    if unknown or (command and not arguments.takes_command):
        hint = " (put the command after --)" if arguments.takes_command else ""
        words = unknown if arguments.takes_command else [*unknown, *command]
        arguments.parser.error(visible(f"unknown arguments: {' '.join(words)}{hint}"))
    try:
        return int(arguments.start(arguments, command, os.environ))
    except ValueError as error:  # the message says what to do; the usage would distract
        sys.stderr.write(visible(f"{arguments.parser.prog}: {error}") + "\n")
    return ExitStatus.USAGE


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Splits the arguments at the first `--`, so that no part of the command is read as an
    option."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


class _Lines(logging.Formatter):
    """Writes each message on one line, because callers and agents can write into many messages."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return indented(super().formatException(ei))


def _log_to_stderr() -> None:
    """Logs only this package. The logs of the HTTP libraries contain addresses and headers."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines("%(asctime)s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("wake_client")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


if __name__ == "__main__":
    sys.exit(main())
