"""Implements `wake deliver`, `ask`, `check`, `answers`, `withdraw`, `claim` and `report`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from wake_client.answers import Answer, Receipt
from wake_client.client import WakeClient
from wake_client.http.flows import OptionalFields
from wake_client.shell import attachments, options
from wake_client.shell.access import access
from wake_client.shell.output import ExitStatus, add_parser, guarded, progress, say, show
from wake_client.visible_text import indented, json_text, visible

ANSWERED = {
    "approved": ExitStatus.OK,
    "rejected": ExitStatus.REJECTED,
    "redirected": ExitStatus.REDIRECTED,
}


def add_subcommands(subcommands: Any) -> None:
    deliver = _subcommand(
        subcommands,
        "deliver",
        "show people something",
        _deliver,
        '  wake deliver output "Page ready" "It is live." --details page.md --image page.png',
    )
    deliver.add_argument("type", choices=["update", "output", "alert", "question"])
    _add_content(deliver)
    ask = _subcommand(
        subcommands,
        "ask",
        "ask people and wait for the answer",
        _ask,
        '  wake ask "Which name?" "Both are free." --assume "I take the first." --deadline 3600\n'
        '  wake ask "Which price?" "Both fit." --option A=One --option B=Two --recommend B',
    )
    _add_content(ask)
    _add_wait(ask, default=None)
    check = _subcommand(
        subcommands,
        "check",
        "read the answer to one delivery",
        _check,
        "  wake check 550e8400-e29b-41d4-a716-446655440000 --wait 60",
    )
    check.add_argument("delivery_id")
    _add_wait(check, default=0.0)
    answers = _subcommand(
        subcommands,
        "answers",
        "read the answers to all deliveries",
        _answers,
        "  wake answers --since 2026-03-08T11:55:00Z --json",
    )
    answers.add_argument("--since", metavar="TIME", help="next_since of the last call")
    withdraw = _subcommand(
        subcommands,
        "withdraw",
        "take a delivery back",
        _withdraw,
        '  wake withdraw 550e8400-e29b-41d4-a716-446655440000 --reason "Found it."',
    )
    withdraw.add_argument("delivery_id")
    withdraw.add_argument("--reason", help="why; people see it")
    claim = _subcommand(
        subcommands,
        "claim",
        "use an approval, once, just before you act on it",
        _claim,
        "  wake claim 550e8400-e29b-41d4-a716-446655440000 --digest 0f6c...",
    )
    claim.add_argument("delivery_id")
    claim.add_argument("--digest", required=True, help="that of the receipt, from --digest")
    claim.add_argument("--idempotency-key", metavar="KEY", help="a random key for this attempt")
    report = _subcommand(
        subcommands,
        "report",
        "tell people what came of a delivery",
        _report,
        '  wake report 550e8400-e29b-41d4-a716-446655440000 done "Refund re_3F sent."',
    )
    report.add_argument("delivery_id")
    report.add_argument("status", choices=["done", "failed", "skipped"])
    report.add_argument("summary", nargs="?", help="one line of at most 280 characters")
    report.add_argument("--details", metavar="FILE", help="JSON or text; - is stdin")


def start(
    arguments: argparse.Namespace,
    command: list[str],
    variables: Mapping[str, str],
    *,
    make_client: Callable[..., WakeClient] = WakeClient,
) -> int:
    """Returns the exit status. `variables` is this process's environment. Raises ValueError for
    arguments that cannot be valid."""
    credentials = access(
        variables, endpoint=arguments.endpoint or "", agent_id=arguments.agent or ""
    )
    if not credentials.agent_id and arguments.run in {_deliver, _ask}:
        raise ValueError("The agent's id is needed: set WAKE_AGENT_ID, or use --agent.")

    def work() -> int:
        with make_client(
            credentials.endpoint, credentials.key, agent_id=credentials.agent_id
        ) as client:
            return int(arguments.run(client, arguments))

    return guarded(work)


def _deliver(client: WakeClient, arguments: argparse.Namespace) -> int:
    receipt = client.deliver(
        arguments.type,
        arguments.headline,
        arguments.summary,
        idempotency_key=arguments.idempotency_key,
        **_optional(client, arguments),
    )
    show(arguments, asdict(receipt), visible(receipt.delivery_id))
    _say_if_made_to_wait(receipt, arguments)
    return ExitStatus.OK


def _ask(client: WakeClient, arguments: argparse.Namespace) -> int:
    receipt = client.deliver(
        "question",
        arguments.headline,
        arguments.summary,
        idempotency_key=arguments.idempotency_key,
        **_optional(client, arguments),
    )
    say(f"Waiting for an answer; read it later with: wake check {receipt.delivery_id}")
    _say_if_made_to_wait(receipt, arguments)
    return _waited(client, arguments, receipt)


def _say_if_made_to_wait(receipt: Receipt, arguments: argparse.Namespace) -> None:
    """Prints a note if the agent has to wait. The note is different if an earlier request with the
    same --idempotency-key made the delivery, because the agent may have acted on the answer
    already."""
    if receipt.replayed:
        say(f"An earlier request with this key delivered it, at {receipt.created_at.isoformat()}.")
    if receipt.must_wait:
        why = "It is irreversible" if arguments.irreversible else "A rule of the team says"
        say(f"{why}: wait for the answer, also after the deadline.")


def _check(client: WakeClient, arguments: argparse.Namespace) -> int:
    if "://" in arguments.delivery_id:
        raise ValueError("This reads the answer to a delivery. wake-check URL judges a server.")
    if arguments.wait:
        with progress("Waiting for an answer"):
            answer = client.wait(arguments.delivery_id, timeout=arguments.wait)
        return _answered(arguments, answer)
    return _answered(arguments, client.response(arguments.delivery_id))


def _waited(client: WakeClient, arguments: argparse.Namespace, receipt: Receipt) -> int:
    with progress("Waiting for an answer"):
        answer = client.wait(
            receipt.delivery_id,
            timeout=arguments.wait,
            must_wait=receipt.must_wait,
            digest=receipt.digest,
        )
    return _answered(arguments, answer)


def _answers(client: WakeClient, arguments: argparse.Namespace) -> int:
    responses = client.responses(since=arguments.since)
    answers = list(responses)
    lines = [in_one_line(answer) for answer in answers]
    if not answers:
        lines.append(
            f"No answers since {arguments.since}." if arguments.since else "No answers yet."
        )
    if responses.next_since:
        lines.append(f"next_since {responses.next_since}")
    rows = {"answers": [asdict(answer) for answer in answers], "next_since": responses.next_since}
    show(arguments, rows, "\n".join(visible(line) for line in lines))
    return ExitStatus.OK


def _withdraw(client: WakeClient, arguments: argparse.Namespace) -> int:
    withdrawal = client.withdraw(arguments.delivery_id, arguments.reason)
    show(arguments, asdict(withdrawal), visible(f"withdrawn {withdrawal.delivery_id}"))
    return ExitStatus.OK


def _claim(client: WakeClient, arguments: argparse.Namespace) -> int:
    claim = client.claim(
        arguments.delivery_id,
        digest=arguments.digest,
        idempotency_key=arguments.idempotency_key,
    )
    changed = ", redirected: do what the answer says" if claim.status == "redirected" else ""
    again = ", by an earlier request with this key" if claim.replayed else ""
    show(arguments, asdict(claim), visible(f"claimed {claim.delivery_id}{again}{changed}"))
    return ANSWERED[claim.status]


def _report(client: WakeClient, arguments: argparse.Namespace) -> int:
    outcome = client.report(
        arguments.delivery_id,
        arguments.status,
        arguments.summary,
        details=_details(arguments.details),
    )
    show(arguments, asdict(outcome), visible(f"reported {outcome.delivery_id}"))
    return ExitStatus.OK


def _answered(arguments: argparse.Namespace, answer: Answer) -> int:
    show(arguments, asdict(answer), in_words(answer))
    if answer.is_answered:
        return ANSWERED[answer.status]
    if answer.is_withdrawn:
        return ExitStatus.WITHDRAWN
    return ExitStatus.EXPIRED if answer.expired else ExitStatus.PENDING


def in_words(answer: Answer) -> str:
    """Returns the answer as lines. A person's words are indented by two spaces, so that no line of
    them can be taken for the status or the edit."""
    lines = [_state(answer)]
    if answer.feedback:
        lines.append(indented(answer.feedback))
    if answer.edited_content is not None:
        lines.append(json_text(answer.edited_content))
    if not answer.is_answered:
        lines.append(visible(f"delivery_id {answer.delivery_id}"))
    return "\n".join(lines)


def in_one_line(answer: Answer) -> str:
    """Returns the answer as one line of a list of answers."""
    parts = [answer.delivery_id, answer.status, " ".join((answer.feedback or "").split())]
    if answer.edited_content is not None:
        parts.append(json_text(answer.edited_content))
    return visible(" ".join(part for part in parts if part))


def _state(answer: Answer) -> str:
    if answer.is_answered:
        return answer.status
    if answer.withdrawn_at is not None:
        withdrawn_at = answer.withdrawn_at.isoformat(timespec="seconds").replace("+00:00", "Z")
        return f"withdrawn at {withdrawn_at}; people are not asked any more"
    return "expired" if answer.expired else answer.status


def _optional(client: WakeClient, arguments: argparse.Namespace) -> OptionalFields:
    details = options.with_options(_details(arguments.details), arguments)
    fields = {
        "details": attachments.with_files(client, details, arguments),
        "timeout_seconds": arguments.deadline,
        "assumption": arguments.assume,
        "thread": arguments.thread,
        "priority": arguments.priority,
        "quorum": arguments.quorum,
        "irreversible": arguments.irreversible or None,
        "supersedes": arguments.supersedes,
        "claim_within_seconds": arguments.claim_within,
        "digest": arguments.digest or None,
        "callback_webhook": arguments.callback,
        "receipt": arguments.receipt or None,
    }
    return cast(OptionalFields, fields)


def _details(path: str | None) -> Any:
    """Reads the file as an object if it contains one, and otherwise as a text."""
    if path is None:
        return None
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text in UTF-8.") from error
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def _subcommand(
    subcommands: Any, name: str, help: str, run: Callable[..., int], example: str
) -> argparse.ArgumentParser:
    parser = add_parser(subcommands, name, help, start, example=f"{example}\n")
    parser.set_defaults(run=run)
    return parser


def _add_content(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("headline", help="one line of at most 120 characters")
    parser.add_argument("summary", help="one line of at most 280 characters")
    parser.add_argument("--details", metavar="FILE", help="JSON or text; - is stdin")
    options.add_options(parser)
    attachments.add_options(parser)
    parser.add_argument(
        "--deadline",
        type=int,
        metavar="SECONDS",
        help="time to answer, 60 to 604800; then you go ahead",
    )
    parser.add_argument("--assume", metavar="TEXT", help="your plan if no one answers")
    parser.add_argument("--thread", metavar="NAME", help="groups deliveries that belong together")
    parser.add_argument("--priority", choices=["low", "normal", "high"])
    parser.add_argument("--quorum", type=int, metavar="PEOPLE", help="2 to 5 have to approve")
    parser.add_argument(
        "--irreversible",
        action="store_true",
        help="an approval leads to something that can't be undone",
    )
    parser.add_argument("--supersedes", metavar="ID", help="the delivery that this one replaces")
    parser.add_argument(
        "--digest", action="store_true", help="have the digest, for wake claim (with --json)"
    )
    parser.add_argument(
        "--claim-within", type=int, metavar="SECONDS", help="how long an approval can be claimed"
    )
    parser.add_argument("--callback", metavar="URL", help="post the answer to this endpoint")
    parser.add_argument(
        "--receipt", action="store_true", help="with --callback: the callback has the receipt"
    )
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
