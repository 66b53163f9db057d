"""Follows a task with the official SDK of A2A 0.3 through every interruption. Prints each event as
one line of JSON: its kind, its generation and the state of the task."""

import asyncio
import json
import sys
from typing import Any

import httpx
from a2a.client import A2ACardResolver, A2AClient
from a2a.types import (
    GetTaskRequest,
    Message,
    MessageSendParams,
    Role,
    SendStreamingMessageRequest,
    TaskIdParams,
    TaskQueryParams,
    TaskResubscriptionRequest,
    TextPart,
)

UNSUPPORTED = -32004


class HasEnded(Exception):
    pass


class Follower:
    def __init__(self) -> None:
        self.task_id = ""
        self.is_over = False

    def take(self, answer: Any) -> None:
        error = getattr(answer.root, "error", None)
        if error is not None and error.code == UNSUPPORTED:
            raise HasEnded
        change = answer.root.result
        self.task_id = change.id if change.kind == "task" else change.task_id
        status = getattr(change, "status", None)
        generation = int(change.metadata["wakeGeneration"])
        self.say(change.kind, generation, status.state.value if status else "")

    def say(self, kind: str, generation: int, state: str) -> None:
        self.is_over = state == "completed"
        sys.stdout.write(json.dumps([kind, generation, state]) + "\n")
        sys.stdout.flush()


async def main(agent: str, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    follower = Follower()
    async with httpx.AsyncClient(headers=headers, timeout=30) as http:
        client = A2AClient(http, await A2ACardResolver(http, agent).get_agent_card())
        message = Message(
            message_id="tck-stream-steps", role=Role.user, parts=[TextPart(text="Hi")]
        )
        sending = SendStreamingMessageRequest(id=1, params=MessageSendParams(message=message))
        try:
            async for answer in client.send_message_streaming(sending):
                follower.take(answer)
        except Exception as error:
            sys.stderr.write(f"cut off: {error!r}\n")
        while not follower.is_over:
            again = TaskResubscriptionRequest(id=2, params=TaskIdParams(id=follower.task_id))
            try:
                async for answer in client.resubscribe(again):
                    follower.take(answer)
            except HasEnded:
                query = GetTaskRequest(id=3, params=TaskQueryParams(id=follower.task_id))
                task = (await client.get_task(query)).root.result
                follower.say("get", 0, task.status.state.value)
            except Exception as error:
                sys.stderr.write(f"cut off: {error!r}\n")
                await asyncio.sleep(0.3)


asyncio.run(main(*sys.argv[1:]))
