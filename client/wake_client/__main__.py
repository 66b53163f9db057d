"""Runs the command line, as `wake` or `python -m wake_client`."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from wake_client import commands
from wake_client.connector import cli


def main() -> int:
    own_arguments, command = _split(sys.argv[1:])
    parser = argparse.ArgumentParser("wake", description="The command line of Wake.")
    subcommands = parser.add_subparsers(required=True, metavar="SUBCOMMAND")
    connect = subcommands.add_parser("connect", help="run a command for each task that comes in")
    cli.add_arguments(connect)
    commands.add_subcommands(subcommands)
    arguments, unknown = parser.parse_known_args(own_arguments)
    _log_to_stderr()
    if hasattr(arguments, "run"):
        if unknown or command:
            arguments.parser.error(f"unknown arguments: {' '.join([*unknown, *command])}")
        try:
            return commands.run(arguments, os.environ)
        except ValueError as error:
            arguments.parser.error(str(error))
    if unknown:
        connect.error(f"unknown arguments: {' '.join(unknown)} (put the command after --)")
    try:
        return cli.connect(arguments, command, os.environ)
    except ValueError as error:
        connect.error(str(error))


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Splits at the first `--`, so that no part of the command is read as an option."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _log_to_stderr() -> None:
    """Logs only this package. The logs of the HTTP libraries contain addresses and headers."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("wake_client")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


if __name__ == "__main__":
    sys.exit(main())
