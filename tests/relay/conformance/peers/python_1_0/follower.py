"""Follows a task with the official SDK of A2A 1.0 through every interruption. Prints each event as
one line of JSON: its kind, its generation and the state of the task."""

import asyncio
import json
import sys
from typing import Any

import httpx
from a2a.client import ClientConfig, create_client
from a2a.types.a2a_pb2 import (
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import UnsupportedOperationError


class Follower:
    def __init__(self) -> None:
        self.task_id = ""
        self.is_over = False

    def take(self, event: Any) -> None:
        kind = event.WhichOneof("payload")
        change = getattr(event, kind)
        self.task_id = change.id if kind == "task" else change.task_id
        state = TaskState.Name(change.status.state) if kind != "artifact_update" else ""
        self.say(kind, int(change.metadata["wakeGeneration"]), state)

    def say(self, kind: str, generation: int, state: str) -> None:
        state = state.removeprefix("TASK_STATE_").lower()
        self.is_over = state == "completed"
        sys.stdout.write(json.dumps([kind.replace("_", "-"), generation, state]) + "\n")
        sys.stdout.flush()


async def main(agent: str, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    follower = Follower()
    async with httpx.AsyncClient(headers=headers, timeout=30) as http:
        client = await create_client(agent, ClientConfig(httpx_client=http))
        message = Message(
            message_id="tck-stream-steps", role=Role.ROLE_USER, parts=[Part(text="Hi")]
        )
        try:
            async for event in client.send_message(SendMessageRequest(message=message)):
                follower.take(event)
        except Exception as error:
            sys.stderr.write(f"cut off: {error!r}\n")
        while not follower.is_over:
            try:
                async for event in client.subscribe(SubscribeToTaskRequest(id=follower.task_id)):
                    follower.take(event)
            except UnsupportedOperationError:
                task = await client.get_task(GetTaskRequest(id=follower.task_id))
                follower.say("get", 0, TaskState.Name(task.status.state))
            except Exception as error:
                sys.stderr.write(f"cut off: {error!r}\n")
                await asyncio.sleep(0.3)


asyncio.run(main(*sys.argv[1:]))
