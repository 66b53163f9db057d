"""A connector on a real WebSocket loses no task, and runs none twice, when the server restarts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import ApiKey
from relay.models import CallerKey, Card, Run, Task
from tests.fixtures.served import Server
from tests.relay.fake_connector import Frame, ask, of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]
PATIENCE_SECONDS = 30


class Socket:
    """Imitates a connector with a WebSocket that has sent its hello."""

    def __init__(self, session: aiohttp.ClientSession, server: Server, key: ApiKey) -> None:
        self.session, self.url = session, f"{server.origin}/connect/v1"
        self.headers = {"Authorization": f"Bearer {key.text}"}  # type: ignore[attr-defined]

    async def open(self, **said: Any) -> Frame:
        self.socket = await self.session.ws_connect(self.url, headers=self.headers)
        await self.send_frame("hello", protocol=1, instance_id="i-1", machine="studio", **said)
        return await self.next()

    async def send_frame(self, kind: str, **fields: Any) -> None:
        await self.socket.send_json({"type": kind, **fields})

    async def next(self) -> Frame:
        """Returns the next frame, or `{"closed": code}`."""
        message = await self.socket.receive(PATIENCE_SECONDS)
        if message.type is not aiohttp.WSMsgType.TEXT:
            return {"closed": self.socket.close_code}
        frame: Frame = json.loads(message.data)
        return frame


async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    return await sync_to_async(work)(*arguments)


def asked(card: Card, caller_key: CallerKey) -> str:
    return str(ask(card, caller_key, at=timezone.now()).pk)


def test_a_restarted_server_loses_no_task_and_runs_none_twice(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    server = Server("asgi")
    server.start()
    try:
        first, second, seen = async_to_sync(_through_a_restart)(server, card, caller_key, key)
    finally:
        server.kill()

    assert seen == [first, second]
    for pk, text in ((first, "Done while nobody listened."), (second, "Done.")):
        task = Task.objects.select_related("status_message").get(pk=pk)
        assert task.status_message is not None
        assert (task.state, task.status_message.parts) == ("completed", [{"text": text}])
    runs = Run.objects.values_list("state", "attempts")
    assert sorted(runs) == [("done", 1), ("done", 1)]


async def _through_a_restart(
    server: Server, card: Card, caller_key: CallerKey, key: ApiKey
) -> tuple[str, str, list[str]]:
    seen: list[str] = []
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(
                f"{server.origin}/connect/v1", headers={"Origin": "https://elsewhere.example"}
            )
        assert refused.value.status == 403

        connector = Socket(session, server, key)
        assert (await connector.open())["type"] == "welcome"
        first = await in_thread(asked, card, caller_key)
        run = await connector.next()
        seen.append(run["taskId"])
        await connector.send_frame("ack", **of(run))

        stopped = asyncio.create_task(in_thread(server.stop))
        assert "closed" in await connector.next()
        await stopped
        assert server.process.returncode == 0, "It had to be killed."
        second = await in_thread(asked, card, caller_key)
        await in_thread(server.start)

        await connector.open(last_dispatch_ids=[run["dispatch_id"]])
        await connector.send_frame(
            "result", **of(run), state="completed", text="Done while nobody listened."
        )
        frames = [await connector.next() for _ in range(2)]
        (done,) = [frame for frame in frames if frame["type"] == "done"]
        (again,) = [frame for frame in frames if frame["type"] == "task"]
        assert done["dispatch_id"] == run["dispatch_id"]
        seen.append(again["taskId"])
        await connector.send_frame("result", **of(again), state="completed", text="Done.")
        assert (await connector.next())["type"] == "done"

        await in_thread(lambda: keys.revoke(key, by=SYSTEM, at=timezone.now()))
        while "closed" not in (last := await connector.next()):
            assert last == {"type": "ping"}
            await connector.send_frame("pong")
        assert last == {"closed": 4401}
    return first, second, seen
