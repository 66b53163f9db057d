"""Serves the methods of A2A 1.0 and 0.3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from database.clock import database_now
from relay.api import calls, push_results, streaming, task_list
from relay.api.calls import AgentCall
from relay.models import PushConfig, Task
from relay.protocol import dialects
from relay.protocol.dialects import Configuration, Json
from relay.protocol.versions import Version
from relay.tasks import lifecycle, push_queue, pushes, sending
from wake.api.long_poll import seconds_until


class MethodNotFound(Exception):
    """There is no such method in this version of A2A."""


class VersionNotSupported(Exception):
    """This agent does not speak that version of A2A."""


class NoExtendedCard(Exception):
    """This agent has one card for all callers, and no extended one."""


class NotCancelable(Exception):
    """This task has ended."""


# Returns the result, or a TaskStream.
Method = Callable[[AgentCall], Any]


def send(call: AgentCall) -> Json:
    return answer_send(call, *calls.accept_message(call))


def answer_send(call: AgentCall, task: Task, configuration: Configuration) -> Json:
    """Waits for the task if the caller wants to, and writes it."""
    seconds = seconds_until(call.wait_until) if configuration.blocking else 0
    reply = lifecycle.reply_with(lifecycle.wait_for(task, seconds=seconds))
    if reply.message:
        name, body = "message", dialects.write_message(reply.message, call.version)
    else:
        name, body = "task", _written(reply.task or task, call, configuration.history_length)
    return body if call.version == "0.3" else {name: body}


def get(call: AgentCall) -> Json:
    length = call.params.number("historyLength", low=0)
    task = calls.own_task(call, "id")
    with calls.room_to_write(task):
        body = _written(task, call, length)
    if results := push_results.of(task):
        body["metadata"] = {**body.get("metadata", {}), push_results.RESULTS: results}
    return body


def list_(call: AgentCall) -> Json:
    """Lists tasks, in 1.0 only. In 0.3 the method exists only for other transports."""
    query = task_list.read(call.params, call.caller)
    length = call.params.number("historyLength", low=0)
    page = task_list.page(call.card, call.caller, query, network=call.network)
    with calls.room_to_write(*page.tasks):
        tasks = dialects.write_tasks(
            page.tasks, call.version, history_length=length, artifacts=query.artifacts
        )
    return {
        "tasks": tasks,
        "nextPageToken": page.next_token,
        "pageSize": query.page_size,
        "totalSize": page.total,
    }


def cancel(call: AgentCall) -> Json:
    task = calls.own_task(call, "id")
    by = sending.caller_actor(call.caller, call.address)
    try:
        return _written(lifecycle.cancel(task, by=by, at=database_now()), call)
    except lifecycle.TaskIsTerminal:
        raise NotCancelable(NotCancelable.__doc__) from None


def create_push(call: AgentCall) -> Json:
    """Stores a push notification config. In 1.0 its members are beside the task's id, and in 0.3
    they are in a nested object. Wake accepts both forms in both versions."""
    task = calls.own_task(call, "taskId")
    nested = call.params.get("pushNotificationConfig") is not None
    config = call.params.inner("pushNotificationConfig") if nested else call.params
    push = dialects.read_push(config, call.version)
    return _config(pushes.create(task, push, at=database_now()), call)


def get_push(call: AgentCall) -> Json:
    return _config(pushes.get(calls.own_task(call, "taskId"), call.params.needed_id("id")), call)


def list_pushes(call: AgentCall) -> Json:
    """Lists all of a task's configs, which always fit on one page."""
    configs = pushes.get_all(calls.own_task(call, "taskId"))
    return {"configs": [_config(each, call) for each in configs], "nextPageToken": ""}


def delete_push(call: AgentCall) -> Json:
    _delete_config(calls.own_task(call, "taskId"), call.params.needed_id("id"))
    return {}


def get_older_push(call: AgentCall) -> Json:
    """Returns the named config, or the first one if the request names none. Some clients of 0.3
    send `default` instead of no id."""
    task, config_id = calls.own_task(call, "id"), call.params.id("pushNotificationConfigId")
    is_named = config_id != "default" or task.push_configs.filter(config_id=config_id).exists()
    return _config(pushes.get(task, config_id if is_named else ""), call)


def list_older_pushes(call: AgentCall) -> list[Json]:
    return [_config(each, call) for each in pushes.get_all(calls.own_task(call, "id"))]


def delete_older_push(call: AgentCall) -> None:
    config_id = call.params.needed_id("pushNotificationConfigId")
    _delete_config(calls.own_task(call, "id"), config_id)


def get_extended_card(call: AgentCall) -> NoReturn:
    """Refuses the call. Each version has its own error for an operation that the card does not
    offer."""
    if call.version == "0.3":
        raise NoExtendedCard(NoExtendedCard.__doc__)
    raise calls.UnsupportedOperation(NoExtendedCard.__doc__)


METHODS: Mapping[Version, Mapping[str, Method]] = {
    "1.0": {
        "SendMessage": send,
        "SendStreamingMessage": streaming.send,
        "GetTask": get,
        "ListTasks": list_,
        "CancelTask": cancel,
        "SubscribeToTask": streaming.subscribe,
        "CreateTaskPushNotificationConfig": create_push,
        "GetTaskPushNotificationConfig": get_push,
        "ListTaskPushNotificationConfigs": list_pushes,
        "DeleteTaskPushNotificationConfig": delete_push,
        "GetExtendedAgentCard": get_extended_card,
    },
    "0.3": {
        "message/send": send,
        "message/stream": streaming.send,
        "tasks/get": get,
        "tasks/cancel": cancel,
        "tasks/resubscribe": streaming.subscribe,
        "tasks/pushNotificationConfig/set": create_push,
        "tasks/pushNotificationConfig/get": get_older_push,
        "tasks/pushNotificationConfig/list": list_older_pushes,
        "tasks/pushNotificationConfig/delete": delete_older_push,
        "agent/getAuthenticatedExtendedCard": get_extended_card,
    },
}


def find(name: str, version: Version) -> Method:
    """Returns the method. Raises MethodNotFound. Raises VersionNotSupported for a method that only
    1.0 has, because a client that calls such a method without a version has forgotten the
    header."""
    if method := METHODS[version].get(name):
        return method
    if version == "0.3" and name in METHODS["1.0"]:
        text = f"{name} is of A2A 1.0: send it with the header 'A2A-Version: 1.0'."
        raise VersionNotSupported(text)
    raise MethodNotFound(f"A2A {version} has no method {name[:80]!r}.")


def _written(task: Task, call: AgentCall, history_length: int | None = None) -> Json:
    return dialects.write_task(task, call.version, history_length=history_length)


def _delete_config(task: Task, config_id: str) -> None:
    """Deletes a config. Events that happened before the deletion are still sent to the config's
    address."""
    if task.push_configs.filter(config_id=config_id).exists():
        push_queue.queue_due_of(task, at=database_now())
    pushes.delete(task, config_id)


def _config(config: PushConfig, call: AgentCall) -> Json:
    return dialects.write_push_config(config, call.version)
