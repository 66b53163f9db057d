"""`wake`, or `python -m wake_client`."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from wake_client.connector import cli


def main() -> int:
    own, command = _split(sys.argv[1:])
    parser = argparse.ArgumentParser("wake", description="People answer your agents.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    connect = verbs.add_parser("connect", help="run a command for the tasks that come in")
    cli.add_arguments(connect)
    arguments, unknown = parser.parse_known_args(own)
    if unknown:
        connect.error(f"not known: {' '.join(unknown)} (the command goes behind --)")
    _log_to_stderr()
    try:
        return cli.connect(arguments, command, os.environ)
    except ValueError as error:
        connect.error(str(error))


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Before and after the first `--`; what is behind it is never taken for an option."""
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _log_to_stderr() -> None:
    """This package's lines alone: those of the libraries show addresses and headers."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log = logging.getLogger("wake_client")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


if __name__ == "__main__":
    sys.exit(main())
