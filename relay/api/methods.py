"""The operations of A2A 1.0 and 0.3, for a server with push notifications and without streams."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from django.utils import timezone

from accounts import throttles
from relay import lifecycle, pushes, task_list, wire
from relay.fields import Fields
from relay.models import CallerKey, Card, PushConfig, Task
from relay.wire import Json, Version
from wake.deliveries import Idempotency


class MethodNotFound(Exception):
    """There is no such method in this version of A2A."""


class VersionNotSupported(Exception):
    """This agent does not speak that version of A2A."""


class UnsupportedOperation(Exception):
    """This agent does not stream; ask with GetTask (0.3: tasks/get), or let it push."""


class NoExtendedCard(Exception):
    """There is one card, and everybody may read it."""


class NotCancelable(Exception):
    """This task has ended."""


@dataclass(frozen=True, slots=True)
class Call:
    """What one caller asks of one agent, in `size` bytes. A send waits for at most
    `wait_seconds`."""

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
    incoming = wire.read_message(call.params.get("message"))
    wanted = wire.read_configuration(call.params.get("configuration"), call.version)
    if not call.card.takes(wire.media_types(incoming.parts)):
        raise wire.ContentTypeNotSupported(wire.ContentTypeNotSupported.__doc__)
    if call.caller is None:
        throttles.count_bytes(call.network, call.size)
    task = lifecycle.send(
        call.card,
        call.caller,
        incoming,
        idempotency=call.idempotency,
        push=wanted.push,
        address=call.address,
        network=call.network,
    )
    seconds = call.wait_seconds if wanted.blocking else 0
    reply = lifecycle.reply_with(lifecycle.wait_for(task.pk, seconds=seconds))
    if reply.message:
        name, body = "message", wire.write_message(reply.message, call.version)
    else:
        name, body = "task", _written(reply.task or task, call, wanted.history_length)
    return body if call.version == "0.3" else {name: body}


def get(call: Call) -> Json:
    length = call.params.number("historyLength", low=0)
    return _written(_task(call, "id"), call, length)


def list_(call: Call) -> Json:
    """1.0 only: 0.3 has it for other transports alone."""
    wanted = task_list.read(call.params, call.caller)
    length = call.params.number("historyLength", low=0)
    artifacts = call.params.flag("includeArtifacts") or False
    page = task_list.page(call.card, call.caller, wanted, network=call.network)
    return {
        "tasks": wire.write_tasks(
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
        return _written(lifecycle.cancel(task, by=by, at=timezone.now()), call)
    except lifecycle.TaskIsTerminal:
        raise NotCancelable(NotCancelable.__doc__) from None


def create_push(call: Call) -> Json:
    """1.0 has the config flat beside the task's id, 0.3 nested; either is read in both."""
    task = _task(call, "taskId")
    nested = call.params.get("pushNotificationConfig") is not None
    given = call.params.inner("pushNotificationConfig") if nested else call.params
    push = wire.read_push(given, call.version)
    return _config(pushes.create(task, push, at=timezone.now()), call)


def get_push(call: Call) -> Json:
    return _config(pushes.get(_task(call, "taskId"), call.params.needed_id("id")), call)


def list_pushes(call: Call) -> Json:
    """On one page, which they always fit on."""
    configs = pushes.get_all(_task(call, "taskId"))
    return {"configs": [_config(each, call) for each in configs], "nextPageToken": ""}


def delete_push(call: Call) -> Json:
    pushes.delete(_task(call, "taskId"), call.params.needed_id("id"))
    return {}


def get_older_push(call: Call) -> Json:
    """The first one where none is named."""
    config_id = call.params.id("pushNotificationConfigId")
    return _config(pushes.get(_task(call, "id"), config_id), call)


def list_older_pushes(call: Call) -> list[Json]:
    return [_config(each, call) for each in pushes.get_all(_task(call, "id"))]


def delete_older_push(call: Call) -> None:
    pushes.delete(_task(call, "id"), call.params.needed_id("pushNotificationConfigId"))


def stream(call: Call) -> NoReturn:
    raise UnsupportedOperation(UnsupportedOperation.__doc__)


def get_extended_card(call: Call) -> NoReturn:
    """An operation without its capability, in the words of each version."""
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
    """Raises MethodNotFound, and VersionNotSupported for what only 1.0 has: who calls it and names
    no version has forgotten the header, and must hear of that."""
    if found := METHODS[version].get(name):
        return found
    if version == "0.3" and name in METHODS["1.0"]:
        text = f"{name} is of A2A 1.0: send it with the header 'A2A-Version: 1.0'."
        raise VersionNotSupported(text)
    raise MethodNotFound(f"A2A {version} has no method {name[:80]!r}.")


def _task(call: Call, name: str) -> Task:
    """The caller's own, by the id in that member; somebody else's is not there. Whoever has no key
    finds what nobody owns, by an id that nobody guesses. Raises InvalidParams and TaskNotFound."""
    text = call.params.needed_id(name)
    try:
        pk = uuid.UUID(text)
    except ValueError:
        pk = uuid.UUID(int=0)
    rows = Task.objects.of_caller(call.card.agent, call.caller)
    found = rows.select_related("agent", "context", "status_message").filter(pk=pk).first()
    if found is None:
        raise lifecycle.TaskNotFound(lifecycle.TaskNotFound.__doc__)
    return found


def _written(task: Task, call: Call, history_length: int | None = None) -> Json:
    return wire.write_task(task, call.version, history_length=history_length)


def _config(config: PushConfig, call: Call) -> Json:
    return wire.write_push_config(config, call.version)
