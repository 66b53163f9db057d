"""Defines exit statuses, output and the common options of the subcommands."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from wake_client.errors import (
    AlreadyAnswered,
    KeyNotValid,
    NotAccepted,
    NotClaimed,
    NotFound,
    WakeError,
)
from wake_client.visible_text import json_text, visible, visible_lines

Start = Callable[[argparse.Namespace, list[str], Mapping[str, str]], int]


class ExitStatus(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    KEY_NOT_VALID = 3
    NOT_FOUND = 4
    ALREADY_ANSWERED = 5
    NOT_CLAIMED = 6
    NOT_SIGNED = 7
    CONTENT_DIFFERS = 8
    NOT_LOGGED = 9
    REJECTED = 10
    REDIRECTED = 11
    EXPIRED = 12
    PENDING = 13
    NOT_WITNESSED = 14
    NOT_SIGNED_BY_PASSKEY = 15
    NOT_APPROVED = 16
    OTHER_TEAM = 17
    WITHDRAWN = 18
    STOPPED = 130


# The option of the command line for each field of the protocol that has another name there.
OPTIONS = {
    "timeout_seconds": "--deadline",
    "assumption": "--assume",
    "claim_within_seconds": "--claim-within",
    "callback_webhook": "--callback",
    "since": "--since",
    "Idempotency-Key": "--idempotency-key",
}
EXIT_STATUSES = """\
environment, instead of `wake login`:
  WAKE_ENDPOINT   the server's address, https://...
  WAKE_API_KEY    the agent's key
  WAKE_AGENT_ID   the agent's id

exit status:
  0   done; of ask and check: approved
  1   the server cannot be reached, or did something unexpected
  2   the arguments are wrong, or the server does not accept them
  3   the key is unknown, revoked or expired
  4   there is no such delivery
  5   withdraw: a person has answered already
  6   claim: there is no approval to use, or it was used before
  7   verify: the receipt is not signed by one of the keys, or was changed
  8   verify: the receipt is not about this content
  9   verify: the receipt is not in the log
  10  rejected    11  redirected    12  expired without an answer    13  still pending
  14  verify: a witness has not seen the log of this proof
  15  verify: a signature of a passkey is wrong, or one that was asked for is not there
  16  verify --approved: the delivery was not approved, or was a test
  17  verify --team: another team answered
  18  ask, check and run: the question was withdrawn; people are not asked any more
  130 stopped by Ctrl-C; what was delivered stays in the inbox
"""


def add_parser(
    subcommands: Any,
    name: str,
    help: str,
    start: Start,
    *,
    example: str,
    has_access: bool = True,
    json_help: str = "print JSON",
) -> argparse.ArgumentParser:
    """Adds a subcommand. Without a `json_help` it has no `--json`, because it has no output of its
    own."""
    parser: argparse.ArgumentParser = subcommands.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog=f"{EXIT_STATUSES}\nexample:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(start=start, parser=parser)
    if has_access:
        parser.add_argument("--endpoint", metavar="URL", help="instead of WAKE_ENDPOINT")
        parser.add_argument("--agent", metavar="ID", help="instead of WAKE_AGENT_ID")
        if json_help:
            parser.add_argument("--json", action="store_true", help=json_help)
    return parser


def show(arguments: argparse.Namespace, value: Any, text: str) -> None:
    """Prints the value as JSON, or the text. In `text`, the words of other people are already on
    lines of their own (visible_text.py)."""
    sys.stdout.write(f"{json_text(value) if arguments.json else visible_lines(text)}\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """Prints one line, even if the text has several."""
    sys.stderr.write(f"{visible(text)}\n")


def guarded(work: Callable[[], int]) -> int:
    """Returns the exit status of the work. An error is printed as one line."""
    try:
        return int(work())
    except KeyboardInterrupt:
        say("wake: stopped")
        return ExitStatus.STOPPED
    except BrokenPipeError:  # the reader of a pipe has closed it
        sys.stdout = None  # the interpreter would flush it again
        return ExitStatus.OK
    except WakeError as error:
        say(f"wake: {_in_options(error)}")
        return status_of(error)


@contextmanager
def progress(label: str) -> Iterator[None]:
    """Shows how long a command has waited, on a line that is removed at the end. The line is left
    out in a pipe and in a log."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_tick, args=(label, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


def status_of(error: WakeError) -> ExitStatus:
    match error:
        case KeyNotValid():
            return ExitStatus.KEY_NOT_VALID
        case NotFound():
            return ExitStatus.NOT_FOUND
        case AlreadyAnswered():
            return ExitStatus.ALREADY_ANSWERED
        case NotClaimed():
            return ExitStatus.NOT_CLAIMED
        case NotAccepted():
            return ExitStatus.USAGE
    return ExitStatus.FAILED


def _in_options(error: WakeError) -> str:
    """Returns the error with the command line's name of each field that has another name there."""
    if not any(problem.field in OPTIONS for problem in error.fields):
        return str(error)
    problems = [
        f"{OPTIONS.get(each.field, each.field)}: {each.message.rstrip('.')}"
        for each in error.fields
    ]
    return f"{'; '.join(problems)} ({error.code})"


def _tick(label: str, done: threading.Event) -> None:
    began = time.monotonic()
    while True:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        sys.stderr.write(f"\r\033[K{label} {minutes}:{seconds:02}")
        sys.stderr.flush()
        if done.wait(1):
            return
