"""Calls an agent with the official SDK of A2A 0.3, and prints what it saw as one JSON object."""

import asyncio
import json
import sys
from typing import Any

import httpx
from a2a.client import A2ACardResolver, A2AClient
from a2a.client.errors import A2AClientJSONRPCError
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigParams,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigParams,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigParams,
    ListTaskPushNotificationConfigRequest,
    Message,
    MessageSendConfiguration,
    MessageSendParams,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    SendMessageRequest,
    TaskIdParams,
    TaskQueryParams,
    TaskResubscriptionRequest,
    TextPart,
)

TASK_NOT_FOUND = -32001


async def main(agent: str, key: str, webhook: str, credentials: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(headers=headers, timeout=15) as http:
        card = await A2ACardResolver(http, agent).get_agent_card()
        client = A2AClient(http, card)

        async def send(message_id: str, push: Any = None, **more: Any) -> Any:
            message = Message(
                message_id=message_id, role=Role.user, parts=[TextPart(text="Hello")], **more
            )
            configuration = MessageSendConfiguration(push_notification_config=push)
            params = MessageSendParams(message=message, configuration=configuration)
            answer = await client.send_message(SendMessageRequest(id=message_id, params=params))
            return answer.root.result

        seen: dict[str, Any] = {"card": card.name}
        done = await send("tck-artifact-data")
        seen["sent"] = _state(done)
        seen["artifact"] = done.artifacts[0].parts[0].root.data
        polled = await client.get_task(GetTaskRequest(id=1, params=TaskQueryParams(id=done.id)))
        seen["polled"] = _state(polled.root.result)
        asked = await send("tck-input-required")
        seen["asked"] = _state(asked)
        seen["answered"] = _state(await send("tck-complete-task", task_id=asked.id))
        again = await send("tck-input-required")
        canceled = await client.cancel_task(
            CancelTaskRequest(id=2, params=TaskIdParams(id=again.id))
        )
        seen["canceled"] = _state(canceled.root.result)
        seen["direct"] = (await send("tck-message-response")).parts[0].root.text
        missing = await client.get_task(
            GetTaskRequest(id=3, params=TaskQueryParams(id="nothing-here"))
        )
        seen["missing"] = missing.root.error.code == TASK_NOT_FOUND
        again = TaskResubscriptionRequest(id=7, params=TaskIdParams(id="nothing-here"))
        try:
            [_ async for _ in client.resubscribe(again)]
        except A2AClientJSONRPCError as refusal:
            seen["not_streamed"] = refusal.error.code == TASK_NOT_FOUND
        push = PushNotificationConfig(
            id="mine",
            url=webhook,
            token="a-token",
            authentication=PushNotificationAuthenticationInfo(
                schemes=["Bearer"], credentials=credentials
            ),
        )
        pushed = await send("tck-complete-task", push=push)
        seen["pushed"] = pushed.id
        found = await client.get_task_callback(
            GetTaskPushNotificationConfigRequest(
                id=4,
                params=GetTaskPushNotificationConfigParams(
                    id=pushed.id, push_notification_config_id="mine"
                ),
            )
        )
        config = found.root.result.push_notification_config
        seen["config"] = config.url == webhook
        seen["credentials_told"] = bool(config.authentication and config.authentication.credentials)
        seen["configs"] = await _list_and_delete(http, card.url, pushed.id)
        return seen


async def _list_and_delete(http: httpx.AsyncClient, url: str, task_id: str) -> list[str]:
    """The SDK's client has no methods for these two requests, but the SDK defines the requests."""
    request = ListTaskPushNotificationConfigRequest(
        id=5, params=ListTaskPushNotificationConfigParams(id=task_id)
    )
    body = request.model_dump(by_alias=True, exclude_none=True)
    result = (await http.post(url, json=body)).json()["result"]
    delete = DeleteTaskPushNotificationConfigRequest(
        id=6,
        params=DeleteTaskPushNotificationConfigParams(
            id=task_id, push_notification_config_id="mine"
        ),
    )
    gone = await http.post(url, json=delete.model_dump(by_alias=True, exclude_none=True))
    assert gone.json()["result"] is None
    return [each["pushNotificationConfig"]["id"] for each in result]


def _state(task: Any) -> str:
    return str(task.status.state.value).replace("-", "_")


json.dump(asyncio.run(main(*sys.argv[1:])), sys.stdout)
