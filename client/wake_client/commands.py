"""Implements `wake deliver`, `ask`, `check`, `answers` and `withdraw`: arguments, output and exit
status."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from enum import IntEnum
from pathlib import Path
from typing import Any, cast

from wake_client.answers import Answer
from wake_client.client import WakeClient
from wake_client.errors import AlreadyAnswered, KeyNotValid, NotAccepted, NotFound, WakeError
from wake_client.flows import OptionalFields


class ExitStatus(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    KEY_NOT_VALID = 3
    NOT_FOUND = 4
    ALREADY_ANSWERED = 5
    REJECTED = 10
    REDIRECTED = 11
    EXPIRED = 12
    PENDING = 13
    STOPPED = 130


ANSWERED = {
    "approved": ExitStatus.OK,
    "rejected": ExitStatus.REJECTED,
    "redirected": ExitStatus.REDIRECTED,
}
EPILOG = """\
environment:
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
  10  rejected    11  redirected    12  expired without an answer    13  still pending
  130 stopped by Ctrl-C; what was delivered stays in the inbox

example:
  wake ask "Which name?" "Both are free." --assume "I take the first." --deadline 3600
"""


def add_subcommands(subcommands: Any) -> None:
    deliver = _subcommand(subcommands, "deliver", "show people something", _deliver)
    deliver.add_argument("type", choices=["update", "output", "alert", "question"])
    _add_content(deliver)
    ask = _subcommand(subcommands, "ask", "ask people and wait for the answer", _ask)
    _add_content(ask)
    _add_wait(ask, default=None)
    check = _subcommand(subcommands, "check", "read the answer to one delivery", _check)
    check.add_argument("delivery_id")
    _add_wait(check, default=0.0)
    answers = _subcommand(subcommands, "answers", "read the answers to all deliveries", _answers)
    answers.add_argument("--since", metavar="TIME", help="next_since of the last call")
    withdraw = _subcommand(subcommands, "withdraw", "take a delivery back", _withdraw)
    withdraw.add_argument("delivery_id")
    withdraw.add_argument("--reason", help="why; people see it")


def run(
    arguments: argparse.Namespace,
    variables: Mapping[str, str],
    *,
    make_client: Callable[..., WakeClient] = WakeClient,
) -> int:
    """Returns the exit status. `variables` is this process's environment. Raises ValueError for
    arguments that cannot be valid."""
    endpoint = arguments.endpoint or variables.get("WAKE_ENDPOINT", "")
    agent_id = arguments.agent or variables.get("WAKE_AGENT_ID", "")
    if not endpoint:
        raise ValueError("The server's address is needed: set WAKE_ENDPOINT, or use --endpoint.")
    if not agent_id and arguments.run in {_deliver, _ask}:
        raise ValueError("The agent's id is needed: set WAKE_AGENT_ID, or use --agent.")
    try:
        with make_client(endpoint, variables.get("WAKE_API_KEY", ""), agent_id=agent_id) as client:
            return int(arguments.run(client, arguments))
    except KeyboardInterrupt:
        _say("wake: stopped")
        return ExitStatus.STOPPED
    except WakeError as error:
        _say(f"wake: {error}")
        return _status_of(error)


def _deliver(client: WakeClient, arguments: argparse.Namespace) -> int:
    receipt = client.deliver(
        arguments.type,
        arguments.headline,
        arguments.summary,
        idempotency_key=arguments.idempotency_key,
        **_optional(arguments),
    )
    _print(arguments, asdict(receipt), receipt.delivery_id)
    return ExitStatus.OK


def _ask(client: WakeClient, arguments: argparse.Namespace) -> int:
    receipt = client.deliver(
        "question",
        arguments.headline,
        arguments.summary,
        idempotency_key=arguments.idempotency_key,
        **_optional(arguments),
    )
    _say(f"Waiting for an answer; read it later with: wake check {receipt.delivery_id}")
    return _answered(arguments, client.wait(receipt.delivery_id, timeout=arguments.wait))


def _check(client: WakeClient, arguments: argparse.Namespace) -> int:
    if arguments.wait:
        return _answered(arguments, client.wait(arguments.delivery_id, timeout=arguments.wait))
    return _answered(arguments, client.response(arguments.delivery_id))


def _answers(client: WakeClient, arguments: argparse.Namespace) -> int:
    responses = client.responses(since=arguments.since)
    answers = list(responses)
    lines = [f"{answer.delivery_id} {answer.status} {answer.feedback or ''}" for answer in answers]
    lines.append(f"next_since {responses.next_since or ''}")
    rows = {"answers": [asdict(answer) for answer in answers], "next_since": responses.next_since}
    _print(arguments, rows, "\n".join(line.rstrip() for line in lines))
    return ExitStatus.OK


def _withdraw(client: WakeClient, arguments: argparse.Namespace) -> int:
    withdrawal = client.withdraw(arguments.delivery_id, arguments.reason)
    _print(arguments, asdict(withdrawal), f"withdrawn {withdrawal.delivery_id}")
    return ExitStatus.OK


def _answered(arguments: argparse.Namespace, answer: Answer) -> int:
    lines: list[str] = ["expired" if answer.expired and not answer.is_answered else answer.status]
    if answer.feedback:
        lines.append(answer.feedback)
    if answer.edited_content is not None:
        lines.append(json.dumps(answer.edited_content, ensure_ascii=False))
    if not answer.is_answered:
        lines.append(f"delivery_id {answer.delivery_id}")
    _print(arguments, asdict(answer), "\n".join(lines))
    if answer.is_answered:
        return ANSWERED[answer.status]
    return ExitStatus.EXPIRED if answer.expired else ExitStatus.PENDING


def _optional(arguments: argparse.Namespace) -> OptionalFields:
    fields = {
        "details": _details(arguments.details),
        "timeout_seconds": arguments.deadline,
        "assumption": arguments.assume,
        "thread": arguments.thread,
        "priority": arguments.priority,
        "supersedes": arguments.supersedes,
    }
    return cast(OptionalFields, fields)


def _details(path: str | None) -> Any:
    """Reads an object where the file has one, and otherwise a text."""
    if path is None:
        return None
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def _subcommand(
    subcommands: Any, name: str, help: str, run: Callable[..., int]
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = subcommands.add_parser(
        name,
        help=help,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, parser=parser)
    parser.add_argument("--endpoint", metavar="URL", help="instead of WAKE_ENDPOINT")
    parser.add_argument("--agent", metavar="ID", help="instead of WAKE_AGENT_ID")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _add_content(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("headline", help="one line of at most 120 characters")
    parser.add_argument("summary", help="one line of at most 280 characters")
    parser.add_argument("--details", metavar="FILE", help="JSON or text; - is stdin")
    parser.add_argument(
        "--deadline", type=int, metavar="SECONDS", help="60 to 604800; after it you go on"
    )
    parser.add_argument("--assume", metavar="TEXT", help="what you do without an answer")
    parser.add_argument("--thread", metavar="NAME", help="groups deliveries that belong together")
    parser.add_argument("--priority", choices=["low", "normal", "high"])
    parser.add_argument("--supersedes", metavar="ID", help="the delivery that this one replaces")
    parser.add_argument("--idempotency-key", metavar="KEY", help="the same key is one delivery")


def _add_wait(parser: argparse.ArgumentParser, *, default: float | None) -> None:
    usual = "until there is an answer" if default is None else "not at all"
    parser.add_argument(
        "--wait",
        type=float,
        metavar="SECONDS",
        default=default,
        help=f"how long to wait (default: {usual})",
    )


def _print(arguments: argparse.Namespace, value: Any, text: str) -> None:
    if arguments.json:
        text = json.dumps(value, ensure_ascii=False, default=lambda time: time.isoformat())
    sys.stdout.write(f"{text}\n")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _status_of(error: WakeError) -> ExitStatus:
    match error:
        case KeyNotValid():
            return ExitStatus.KEY_NOT_VALID
        case NotFound():
            return ExitStatus.NOT_FOUND
        case AlreadyAnswered():
            return ExitStatus.ALREADY_ANSWERED
        case NotAccepted():
            return ExitStatus.USAGE
    return ExitStatus.FAILED
