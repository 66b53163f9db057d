"""Runs a subcommand of `wake` with a server that gives prepared responses."""

from __future__ import annotations

from functools import partial
from typing import Any

import httpx

from tests.client.test_sdk import KEY, Server
from wake_client import WakeClient
from wake_client.shell.parser import parser

VARIABLES = {
    "WAKE_ENDPOINT": "https://wake.example.com",
    "WAKE_API_KEY": KEY,
    "WAKE_AGENT_ID": "painter",
    "HOME": "/nowhere",
}


def wake(server: Server, *words: str, variables: dict[str, str] | None = None, **more: Any) -> int:
    arguments = parser().parse_args(words)
    make_client = partial(
        WakeClient,
        transport=httpx.MockTransport(server.answer),
        sleep=server.sleep,
        now=lambda: server.time,
    )
    given = VARIABLES if variables is None else variables
    return int(arguments.start(arguments, [], given, make_client=make_client, **more))
