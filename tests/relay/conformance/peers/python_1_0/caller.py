"""Calls an agent with the official SDK of A2A 1.0, and prints what it saw as one JSON object."""

import asyncio
import json
import sys
from typing import Any

import httpx
from a2a.client import ClientConfig, create_client
from a2a.types.a2a_pb2 import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import TaskNotFoundError


def state(task: Task) -> str:
    name: str = TaskState.Name(task.status.state)
    return name.removeprefix("TASK_STATE_").lower()


async def main(agent: str, key: str, webhook: str, credentials: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(headers=headers, timeout=15) as http:
        client = await create_client(agent, ClientConfig(streaming=False, httpx_client=http))

        async def send(message_id: str, **more: Any) -> Any:
            configuration = more.pop("configuration", None)
            message = Message(
                message_id=message_id, role=Role.ROLE_USER, parts=[Part(text="Hello")], **more
            )
            request = SendMessageRequest(message=message, configuration=configuration)
            (found,) = [event async for event in client.send_message(request)]
            return found

        seen: dict[str, Any] = {"card": (await _card(http, agent))["name"]}
        done = (await send("tck-artifact-data")).task
        seen["sent"] = state(done)
        seen["artifact"] = json.loads(_json(done.artifacts[0].parts[0].data))
        seen["polled"] = state(await client.get_task(GetTaskRequest(id=done.id)))
        listed = await client.list_tasks(ListTasksRequest(context_id=done.context_id))
        seen["listed"] = [task.id for task in listed.tasks] == [done.id]
        asked = (await send("tck-input-required")).task
        seen["asked"] = state(asked)
        seen["answered"] = state((await send("tck-complete-task", task_id=asked.id)).task)
        again = (await send("tck-input-required")).task
        seen["canceled"] = state(await client.cancel_task(CancelTaskRequest(id=again.id)))
        seen["direct"] = (await send("tck-message-response")).message.parts[0].text
        try:
            await client.get_task(GetTaskRequest(id="nothing-here"))
        except TaskNotFoundError:
            seen["missing"] = True
        streaming = await create_client(agent, ClientConfig(httpx_client=http))
        try:
            [_ async for _ in streaming.subscribe(SubscribeToTaskRequest(id="nothing-here"))]
        except TaskNotFoundError:
            seen["not_streamed"] = True
        push = TaskPushNotificationConfig(
            id="mine",
            url=webhook,
            token="a-token",
            authentication=AuthenticationInfo(scheme="Bearer", credentials=credentials),
        )
        configuration = SendMessageConfiguration(task_push_notification_config=push)
        pushed = (await send("tck-complete-task", configuration=configuration)).task
        seen["pushed"] = pushed.id
        found = await client.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(task_id=pushed.id, id="mine")
        )
        seen["config"] = found.url == webhook
        seen["credentials_told"] = bool(found.authentication.credentials)
        configs = await client.list_task_push_notification_configs(
            ListTaskPushNotificationConfigsRequest(task_id=pushed.id)
        )
        seen["configs"] = [config.id for config in configs.configs]
        await client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=pushed.id, id="mine")
        )
        return seen


async def _card(http: httpx.AsyncClient, agent: str) -> Any:
    return (await http.get(f"{agent}/.well-known/agent-card.json")).json()


def _json(value: Any) -> str:
    from google.protobuf.json_format import MessageToJson

    text: str = MessageToJson(value)
    return text


json.dump(asyncio.run(main(*sys.argv[1:])), sys.stdout)
