"""If Wake cannot follow the messages any more, only the editor asks."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import httpx
import pytest

from tests.client.acp.desk import ALLOW, REJECT, TOOL_CALL, Wake, eventually
from tests.client.test_sdk import KEY
from wake_client import AsyncWakeClient
from wake_client.acp import proxy
from wake_client.acp.streams import connected

pytestmark = pytest.mark.slow
ANSWER = b'{"id": 5, "result": {"outcome": {"outcome": "selected", "optionId": "no"}}}'
# Asks, passes on what it reads, and lives on until the file is written.
AGENT = """
import json, sys
print(sys.argv[1], flush=True)
sys.stdin.buffer.read()
open(sys.argv[2]).read()
"""
UNREAD = "Wake could not read a message between the editor and the agent."


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (ANSWER[:-1] + b', "note": "\xff"}\n', UNREAD),
        (ANSWER[:-1] + b', "id": 5}\n', UNREAD),
        (b"[" + ANSWER + b"]\n", UNREAD),
        (ANSWER[:-1] + b', "deep": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n", UNREAD),
        (None, "The editor has gone."),
    ],
    ids=["no UTF-8", "two ids", "batch", "deep", "end"],
)
def test_the_question_is_withdrawn(line: bytes | None, reason: str, tmp_path: Path) -> None:
    params = {"sessionId": "s", "toolCall": TOOL_CALL, "options": [ALLOW, REJECT]}
    request = {"jsonrpc": "2.0", "id": 5, "method": "session/request_permission", "params": params}
    os.mkfifo(tmp_path / "end")
    command = [sys.executable, "-c", AGENT, json.dumps(request), str(tmp_path / "end")]

    async def run() -> Wake:
        wake = Wake()
        from_editor, editor_writes = os.pipe()
        editor_reads, to_editor = os.pipe()
        editor = await connected(os.fdopen(from_editor, "rb"), os.fdopen(to_editor, "wb"))
        async with AsyncWakeClient(
            "https://wake.example.com",
            KEY,
            agent_id="coder",
            transport=httpx.MockTransport(wake.answer),
            sleep=wake.until_answered,
            now=lambda: wake.time,
        ) as client:
            running = asyncio.create_task(proxy.run(command, client, deadline=60, editor=editor))
            await eventually(lambda: any("/response/" in each.url.path for each in wake.requests))
            if line is not None:
                os.write(editor_writes, line)
            else:
                os.close(editor_writes)
            await eventually(lambda: wake.sent_to("withdraw"))
            if line is not None:
                os.close(editor_writes)
            await asyncio.to_thread((tmp_path / "end").write_text, "")
            assert await running == 0
            os.close(editor_reads)
        return wake

    wake = asyncio.run(run())

    assert wake.sent_to("withdraw") == [{"reason": reason}]
    assert wake.sent_to("claim") == []
