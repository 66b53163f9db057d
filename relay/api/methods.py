"""Serves the methods of A2A 1.0 and 0.3 that a server without streams has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from accounts import throttles
from database.clock import database_now
from database.idempotency import Idempotency
from database.uuids import NIL, uuid_or_none
from relay.api import task_list
from relay.models import CallerKey, Card, PushConfig, Task
from relay.protocol import dialects
from relay.protocol.dialects import Json
from relay.protocol.fields import Fields
from relay.protocol.versions import Version
from relay.tasks import lifecycle, pushes


class MethodNotFound(Exception):
    """There is no such method in this version of A2A."""


class VersionNotSupported(Exception):
    """This agent does not speak that version of A2A."""


class UnsupportedOperation(Exception):
    """This agent does not stream; ask with GetTask (0.3: tasks/get), or let it push."""


class NoExtendedCard(Exception):
    """This agent has one card for all callers, and no extended one."""


class NotCancelable(Exception):
    """This task has ended."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one agent, of `size` bytes. A send waits for at most `wait_seconds`."""

    card: Card
    caller: CallerKey | None
    version: Version
    params: Fields
    wait_seconds: float = 0
    idempotency: Idempotency | None = None
    address: str = ""
    network: str = ""
    size: int = 0


Method = Callable[[Call], Any]


def send(call: Call) -> Json:
    incoming = dialects.read_message(call.params.get("message"))
    wanted = dialects.read_configuration(call.params.get("configuration"), call.version)
    if not call.card.takes(dialects.media_types(incoming.parts)):
        raise dialects.ContentTypeNotSupported(dialects.ContentTypeNotSupported.__doc__)
    if call.caller is None:
        throttles.count_bytes(call.network, call.size)
    task = lifecycle.send(
        call.card,
        call.caller,
        replace(incoming, accepted_output_modes=wanted.accepted_output_modes),
        idempotency=call.idempotency,
        push=wanted.push,
        address=call.address,
        network=call.network,
        at=database_now(),
    )
    seconds = call.wait_seconds if wanted.blocking else 0
    reply = lifecycle.reply_with(lifecycle.wait_for(task.pk, seconds=seconds))
    if reply.message:
        name, body = "message", dialects.write_message(reply.message, call.version)
    else:
        name, body = "task", _written(reply.task or task, call, wanted.history_length)
    return body if call.version == "0.3" else {name: body}


def get(call: Call) -> Json:
    length = call.params.number("historyLength", low=0)
    return _written(_task(call, "id"), call, length)


def list_(call: Call) -> Json:
    """Lists tasks in 1.0 only; in 0.3 the method exists for other transports alone."""
    wanted = task_list.read(call.params, call.caller)
    length = call.params.number("historyLength", low=0)
    artifacts = call.params.flag("includeArtifacts") or False
    page = task_list.page(call.card, call.caller, wanted, network=call.network)
    return {
        "tasks": dialects.write_tasks(
            page.tasks, call.version, history_length=length, artifacts=artifacts
        ),
        "nextPageToken": page.next_token,
        "pageSize": wanted.page_size,
        "totalSize": page.total,
    }


def cancel(call: Call) -> Json:
    task = _task(call, "id")
    by = lifecycle.caller_actor(call.caller, call.address)
    try:
        return _written(lifecycle.cancel(task, by=by, at=database_now()), call)
    except lifecycle.TaskIsTerminal:
        raise NotCancelable(NotCancelable.__doc__) from None


def create_push(call: Call) -> Json:
    """Stores a push notification config. 1.0 has it flat beside the task's id, 0.3 nested; both
    versions accept both."""
    task = _task(call, "taskId")
    nested = call.params.get("pushNotificationConfig") is not None
    config = call.params.inner("pushNotificationConfig") if nested else call.params
    push = dialects.read_push(config, call.version)
    return _config(pushes.create(task, push, at=database_now()), call)


def get_push(call: Call) -> Json:
    return _config(pushes.get(_task(call, "taskId"), call.params.needed_id("id")), call)


def list_pushes(call: Call) -> Json:
    """Lists all of a task's configs, which always fit on one page."""
    configs = pushes.get_all(_task(call, "taskId"))
    return {"configs": [_config(each, call) for each in configs], "nextPageToken": ""}


def delete_push(call: Call) -> Json:
    pushes.delete(_task(call, "taskId"), call.params.needed_id("id"))
    return {}


def get_older_push(call: Call) -> Json:
    """Returns the config that is named, else the first."""
    config_id = call.params.id("pushNotificationConfigId")
    return _config(pushes.get(_task(call, "id"), config_id), call)


def list_older_pushes(call: Call) -> list[Json]:
    return [_config(each, call) for each in pushes.get_all(_task(call, "id"))]


def delete_older_push(call: Call) -> None:
    pushes.delete(_task(call, "id"), call.params.needed_id("pushNotificationConfigId"))


def stream(call: Call) -> NoReturn:
    raise UnsupportedOperation(UnsupportedOperation.__doc__)


def get_extended_card(call: Call) -> NoReturn:
    """Refuses, as each version refuses an operation without its capability."""
    if call.version == "0.3":
        raise NoExtendedCard(NoExtendedCard.__doc__)
    raise UnsupportedOperation(NoExtendedCard.__doc__)


METHODS: Mapping[Version, Mapping[str, Method]] = {
    "1.0": {
        "SendMessage": send,
        "SendStreamingMessage": stream,
        "GetTask": get,
        "ListTasks": list_,
        "CancelTask": cancel,
        "SubscribeToTask": stream,
        "CreateTaskPushNotificationConfig": create_push,
        "GetTaskPushNotificationConfig": get_push,
        "ListTaskPushNotificationConfigs": list_pushes,
        "DeleteTaskPushNotificationConfig": delete_push,
        "GetExtendedAgentCard": get_extended_card,
    },
    "0.3": {
        "message/send": send,
        "message/stream": stream,
        "tasks/get": get,
        "tasks/cancel": cancel,
        "tasks/resubscribe": stream,
        "tasks/pushNotificationConfig/set": create_push,
        "tasks/pushNotificationConfig/get": get_older_push,
        "tasks/pushNotificationConfig/list": list_older_pushes,
        "tasks/pushNotificationConfig/delete": delete_older_push,
        "agent/getAuthenticatedExtendedCard": get_extended_card,
    },
}


def find(name: str, version: Version) -> Method:
    """Returns the method. Raises MethodNotFound, and VersionNotSupported for a method that only 1.0
    has: a client that calls it without a version has forgotten the header."""
    if found := METHODS[version].get(name):
        return found
    if version == "0.3" and name in METHODS["1.0"]:
        text = f"{name} is of A2A 1.0: send it with the header 'A2A-Version: 1.0'."
        raise VersionNotSupported(text)
    raise MethodNotFound(f"A2A {version} has no method {name[:80]!r}.")


def _task(call: Call, name: str) -> Task:
    """Returns the caller's own task by the id in this member. An anonymous caller finds tasks
    without an owner, by an id that cannot be guessed. Raises InvalidParams and TaskNotFound."""
    pk = uuid_or_none(call.params.needed_id(name)) or NIL
    rows = Task.objects.of_caller(call.card.agent, call.caller)
    task = rows.select_related("agent", "context", "status_message").filter(pk=pk).first()
    if task is None:
        raise lifecycle.TaskNotFound(lifecycle.TaskNotFound.__doc__)
    return task


def _written(task: Task, call: Call, history_length: int | None = None) -> Json:
    return dialects.write_task(task, call.version, history_length=history_length)


def _config(config: PushConfig, call: Call) -> Json:
    return dialects.write_push_config(config, call.version)
