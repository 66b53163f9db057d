"""Implements `wake watch`, which prints answers as they come."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from wake_client.answers import Answer, Status
from wake_client.client import WakeClient
from wake_client.http.flows import MAX_LONG_POLL_SECONDS
from wake_client.shell.access import access
from wake_client.shell.deliveries import in_one_line
from wake_client.shell.output import ExitStatus, add_parser, guarded, progress
from wake_client.visible_text import json_text

ANSWERED: tuple[Status, ...] = ("approved", "rejected", "redirected")
EXAMPLE = """\
  wake watch --json | while read -r answer; do ./handle "$answer"; done
"""


def add_subcommand(subcommands: Any) -> None:
    parser = add_parser(subcommands, "watch", "print answers as they come", start, example=EXAMPLE)
    parser.add_argument(
        "--since", metavar="TIME", help="begin with the answers after this time, not with new ones"
    )


def start(
    arguments: argparse.Namespace,
    command: list[str],
    variables: Mapping[str, str],
    *,
    make_client: Callable[..., WakeClient] = WakeClient,
) -> int:
    """Runs until Ctrl-C, or until the server is away for longer than the client retries."""
    credentials = access(
        variables, endpoint=arguments.endpoint or "", agent_id=arguments.agent or ""
    )

    def work() -> int:
        with make_client(
            credentials.endpoint, credentials.key, agent_id=credentials.agent_id
        ) as client:
            since = arguments.since or _end_of(client)
            while True:
                with progress("Waiting for answers"):
                    sweep = client.sweep(since=since, status=ANSWERED, wait=MAX_LONG_POLL_SECONDS)
                for answer in sweep.answers:
                    _print(arguments, answer)
                since = sweep.next_since
        return ExitStatus.OK

    return guarded(work)


def _end_of(client: WakeClient) -> str | None:
    """Returns the place after the last answer. Takes the place from the server and not from the
    clock of this machine, because the clocks may differ."""
    responses = client.responses()
    for _ in responses:
        pass
    return responses.next_since


def _print(arguments: argparse.Namespace, answer: Answer) -> None:
    line = json_text(asdict(answer)) if arguments.json else in_one_line(answer)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
