"""Implements `wake acp`, which an editor starts instead of its ACP agent."""

from __future__ import annotations

import argparse
import asyncio
import shutil
from collections.abc import Mapping
from typing import Any

from wake_client.acp import proxy, streams
from wake_client.async_client import AsyncWakeClient
from wake_client.logins.stored import Access
from wake_client.shell.access import access
from wake_client.shell.output import add_parser, guarded

SHORTEST_DEADLINE, USUAL_DEADLINE, LONGEST_DEADLINE = 60, 86_400, 604_800
NEXT_STEP = "Put it after two dashes: wake acp -- gemini --acp"
EXAMPLE = """\
  wake acp -- gemini --acp
  {"agent_servers": {"Gemini": {"type": "custom", "command": "wake",
                                "args": ["acp", "--", "gemini", "--acp"]}}}

Every line passes between the editor and the agent unchanged. If the agent asks for permission, the
editor asks as always, and people are asked in Wake at the same time. The first answer wins. The
exit status is the exit status of the agent.
"""


def add_subcommand(subcommands: Any) -> None:
    parser = add_parser(
        subcommands, "acp", "let people answer the permission requests of an editor's agent", start,
        example=EXAMPLE, json_help="",
    )  # fmt: skip
    parser.add_argument(
        "--deadline",
        type=_seconds,
        default=USUAL_DEADLINE,
        metavar="SECONDS",
        help="how long people are asked in Wake; the editor asks without a deadline "
        f"(default: {USUAL_DEADLINE})",
    )
    parser.set_defaults(takes_command=True)


def start(arguments: argparse.Namespace, command: list[str], variables: Mapping[str, str]) -> int:
    if not command:
        raise ValueError(f"There is no agent to start. {NEXT_STEP}")
    if not shutil.which(command[0]):
        raise ValueError(f"There is no command {command[0]}.")
    credentials = access(
        variables, endpoint=arguments.endpoint or "", agent_id=arguments.agent or ""
    )
    return guarded(lambda: asyncio.run(_run(command, credentials, arguments.deadline)))


async def _run(command: list[str], credentials: Access, deadline: int) -> int:
    editor = await streams.to_editor()
    async with AsyncWakeClient(
        credentials.endpoint, credentials.key, agent_id=credentials.agent_id, provider="acp"
    ) as client:
        try:
            return await proxy.run(command, client, deadline=deadline, editor=editor)
        except OSError as error:
            raise ValueError(f"{command[0]} cannot be started: {error.strerror}") from error


def _seconds(text: str) -> int:
    seconds = int(text)
    if not SHORTEST_DEADLINE <= seconds <= LONGEST_DEADLINE:
        raise ValueError
    return seconds
