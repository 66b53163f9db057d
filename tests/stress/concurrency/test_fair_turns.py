"""A burst of one caller delays no other caller of the same server process."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, Team, User
from relay.cards import callers
from relay.cards.publishing import publish
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from tests.types import SignedIn

pytestmark = pytest.mark.system

BURST, ROUNDS = 100, 3
# How much longer than alone a request may take behind the burst.
SECONDS = 0.3
# On a busy machine everything takes longer, so a share of the burst's time is allowed, too. In the
# order of arrival, a request would wait for all of it.
SHARE = 0.25

SETTINGS = {
    "WAKE_DATABASE_CONNECTIONS": "4",
    "WAKE_READS_PER_MINUTE": "1000000",
    "WAKE_PROXY_CLIENT_HEADER": "X-Forwarded-For",
}


class Answer(NamedTuple):
    status: int
    seconds: float
    ended_at: float


class Measured(NamedTuple):
    """Holds the answer to a request, and how much of the burst was answered meanwhile."""

    answer: Answer
    meanwhile: int
    burst_seconds: float


@pytest.mark.parametrize(
    ("interface", "is_forged"), [("asgi", False), ("wsgi", False), ("wsgi", True)]
)
def test_a_burst_of_one_caller_delays_no_other(
    caller: AgentClient,
    agent: Agent,
    team: Team,
    alice: User,
    signed_in: SignedIn,
    interface: str,
    is_forged: bool,
) -> None:
    """The burst is a hundred messages with one key, or pages with a hundred invented sessions from
    one other address."""
    card = publish(agent, by=SYSTEM, at=timezone.now())
    keys = [callers.mint(team, name=name, by=SYSTEM)[1] for name in ("burst", "other")]
    cookie = f"sessionid={signed_in(alice).cookies['sessionid'].value}"
    others = {
        "card": request("GET", f"/{card}/.well-known/agent-card.json"),
        "poll": request("GET", f"/wake/v1/response/{caller.deliver()}", caller.headers),
        "page": request("GET", "/", {"Cookie": cookie}),
        "call": call(f"/{card}", keys[1], "ListTasks", {}),
    }
    message = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}}
    if is_forged:
        elsewhere = {"X-Forwarded-For": "198.51.100.1"}
        forged = [{"Cookie": f"sessionid={number:032}"} for number in range(BURST)]
        burst = [request("GET", "/login/", {**elsewhere, **headers}) for headers in forged]
    else:
        burst = [call(f"/{card}", keys[0], "SendMessage", message)] * BURST

    with served(interface, **SETTINGS) as origin:
        alone, behind = asyncio.run(measured(urlsplit(origin).port or 0, burst, others))

    for name in others:
        assert Counter(each.status for each in alone[name]) == {200: ROUNDS}
        assert Counter(each.answer.status for each in behind[name]) == {200: ROUNDS}
        assert median(each.meanwhile for each in behind[name]) < BURST / 2, name
        allowed = max(SECONDS, SHARE * median(each.burst_seconds for each in behind[name]))
        longer = median(each.answer.seconds for each in behind[name])
        assert longer - median(each.seconds for each in alone[name]) <= allowed, name


async def measured(
    port: int, burst: Sequence[bytes], others: Mapping[str, bytes]
) -> tuple[dict[str, list[Answer]], dict[str, list[Measured]]]:
    """Sends each request alone, and then behind a burst, ROUNDS times. Everything was sent once
    before, so that the process knows the callers."""
    for first in (burst[0], *others.values()):
        await answered(port, first)
    alone: dict[str, list[Answer]] = {name: [] for name in others}
    behind: dict[str, list[Measured]] = {name: [] for name in others}
    for _ in range(ROUNDS):
        for name, other in others.items():
            alone[name].append(await answered(port, other))
        late = await behind_a_burst(port, burst, others)
        for name, one in zip(others, late, strict=True):
            behind[name].append(one)
    return alone, behind


async def behind_a_burst(
    port: int, burst: Sequence[bytes], others: Mapping[str, bytes]
) -> list[Measured]:
    """Sends the others once the first request of the burst is answered."""
    number = BURST + len(others)
    connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(number)]
    began_at = time.monotonic()
    tasks = [asyncio.create_task(answer_of(*connections.pop(), sent)) for sent in burst]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    sent_at = time.monotonic()
    late = await asyncio.gather(*[answer_of(*connections.pop(), sent) for sent in others.values()])
    answers = await asyncio.gather(*tasks)
    assert Counter(each.status for each in answers) == {200: BURST}
    took = max(each.ended_at for each in answers) - began_at
    ends = [each.ended_at for each in answers if each.ended_at > sent_at]
    return [Measured(each, sum(end < each.ended_at for end in ends), took) for each in late]


async def answered(port: int, sent: bytes) -> Answer:
    return await answer_of(*await asyncio.open_connection("127.0.0.1", port), sent)


async def answer_of(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes
) -> Answer:
    began_at = time.monotonic()
    writer.write(sent)
    whole = await reader.read()
    ended_at = time.monotonic()
    writer.close()
    return Answer(int(whole.split(b" ", 2)[1]), ended_at - began_at, ended_at)


def call(path: str, key: str, method: str, params: Mapping[str, object]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {
        "A2A-Version": "1.0",
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
    }
    return request("POST", path, headers, body)


def request(
    method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> bytes:
    headers = {"X-Forwarded-For": "192.0.2.1", **(headers or {})}
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join([*lines, "", ""]).encode() + body
