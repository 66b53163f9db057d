"""Gives the agents of all frameworks in the tests a client, a tool, and a way to die.

The environment names the server, the key, the folder of the run, the calls that the scripted model
makes, and the point at which the process ends with status 9 as if it were killed. The points are
"before VERB" and "after VERB" for the requests to Wake, "tool" for the middle of the tool, and
"model" for the model's turn after the tools. A program prints one JSON object on each line.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx

from wake_client import AsyncWakeClient, WakeClient
from wake_client.adapters import AskOptions

FOLDER = Path(os.environ["FOLDER"])
THREAD = FOLDER.name
PATH = FOLDER / "approvals.db"
# Each call of the tool has an id and the arguments order and cents.
CALLS: list[dict[str, Any]] = json.loads(os.environ["CALLS"])
REJECTING = AskOptions(timeout_seconds=60, on_timeout="reject")
OPTIONS = REJECTING if os.environ.get("REJECTING") else AskOptions()
CLIENT: dict[str, Any] = {
    "endpoint": os.environ["WAKE_ENDPOINT"],
    "key": os.environ["WAKE_API_KEY"],
    "agent_id": os.environ["WAKE_AGENT_ID"],
    "retry_for": 0,
}
# Whether the tool is to get other arguments than people were asked about.
CHANGED = bool(os.environ.get("CHANGED"))
OTHER_ARGUMENTS = {"order": "A-1042", "cents": 99_999}
DIES = os.environ.get("DIES", "")


def wake() -> WakeClient:
    return WakeClient(transport=Blocking(), **CLIENT)


def async_wake() -> AsyncWakeClient:
    return AsyncWakeClient(transport=Awaiting(), **CLIENT)


def refund(order: str, cents: int) -> str:
    """Refunds an order."""
    with (FOLDER / "refunds").open("a") as file:
        file.write(json.dumps({"order": order, "cents": cents}) + "\n")
    die("tool")
    return f"Refunded {cents}."


def say(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def die(point: str) -> None:
    if point == DIES:
        os._exit(9)


class Blocking(httpx.HTTPTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        die(f"before {_verb(request)}")
        response = super().handle_request(request)
        response.read()
        die(f"after {_verb(request)}")
        return response


class Awaiting(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        die(f"before {_verb(request)}")
        response = await super().handle_async_request(request)
        await response.aread()
        die(f"after {_verb(request)}")
        return response


def _verb(request: httpx.Request) -> str:
    return "".join(request.url.path.split("/")[3:4])
