"""Holds one call of an agent, and the steps that several methods share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from accounts.limits import throttles
from database.clock import database_now
from database.idempotency import Idempotency
from database.turns import released
from database.uuids import NIL, uuid_or_none
from relay.api.limits import count_bytes
from relay.models import CallerKey, Card, Task
from relay.protocol import dialects, jsonrpc
from relay.protocol.dialects import Configuration, Incoming, Json
from relay.protocol.fields import Fields
from relay.protocol.parts import media_types
from relay.protocol.versions import Version
from relay.tasks import lifecycle, sending
from wake.api import log_context

# Writing a task takes up to nine times its size in memory, so only a few long tasks are written at
# a time.
LONG_TASK = 1_000_000  # bytes of a task
ROOM_SECONDS = 10
_room = threading.BoundedSemaphore(4)


class UnsupportedOperation(Exception):
    """This agent does not do that."""


@dataclass(frozen=True, slots=True)
class AgentCall:
    """Holds a call of one agent. A send waits until `wait_until`, an instant of `time.monotonic()`.
    `size` is the number of bytes that the limits have not counted yet.

    `check_streaming` raises CannotStream in a server process that does not stream. `write_error`
    writes an error in the middle of a stream. `last_event_id` is the id that a reconnecting client
    sent. `is_cached` says that card and caller may be out of date.
    """

    card: Card
    caller: CallerKey | None
    version: Version
    params: Fields
    id: jsonrpc.Id
    check_streaming: Callable[[], None]
    write_error: Callable[[Exception], Json]
    wait_until: float = 0
    idempotency: Idempotency | None = None
    last_event_id: str = ""
    address: str = ""
    network: str = ""
    size: int = 0
    is_cached: bool = False


def accept_message(call: AgentCall) -> tuple[Task, Configuration]:
    """Stores the message of a send. Returns its task, and how the caller wants to be answered."""
    incoming, configuration = _read_message(call)
    if call.caller is None:
        count_bytes(call.network, call.size)
    task = sending.send(
        call.card,
        call.caller,
        incoming,
        idempotency=call.idempotency,
        push=configuration.push,
        address=call.address,
        network=call.network,
        traceparent=log_context.current().traceparent,
        is_cached=call.is_cached,
        at=database_now(),
    )
    return task, configuration


def _read_message(call: AgentCall) -> tuple[Incoming, Configuration]:
    incoming = dialects.read_message(call.params.get("message"))
    configuration = dialects.read_configuration(call.params.get("configuration"), call.version)
    if not call.card.takes(media_types(incoming.parts)):
        raise dialects.ContentTypeNotSupported(dialects.ContentTypeNotSupported.__doc__)
    metadata = call.params.get("metadata")
    incoming = replace(
        incoming,
        request_metadata=metadata if isinstance(metadata, dict) else {},
        accepted_output_modes=configuration.accepted_output_modes,
    )
    return incoming, configuration


def own_task(call: AgentCall, name: str) -> Task:
    """Returns the caller's own task by the id in this member. The tasks of anonymous callers have
    no owner, so an anonymous caller needs the task's id, which cannot be guessed. Raises
    InvalidParams and TaskNotFound."""
    pk = uuid_or_none(call.params.needed_id(name)) or NIL
    rows = Task.objects.of_caller(call.card.agent, call.caller)
    task = rows.select_related("agent", "context", "status_message").filter(pk=pk).first()
    if task is None:
        raise lifecycle.TaskNotFound(lifecycle.TaskNotFound.__doc__)
    return task


@contextmanager
def room_to_write(*tasks: Task) -> Iterator[None]:
    """Waits until this process may write the tasks. Only calls that read tasks wait here: a call
    whose message was stored must not be refused. Raises throttles.TooManyRequests."""
    if sum(task.stored_bytes for task in tasks) < LONG_TASK:
        yield
        return
    with released():
        has_room = _room.acquire(timeout=ROOM_SECONDS)
    if not has_room:
        raise throttles.TooManyRequests(ROOM_SECONDS)
    try:
        yield
    finally:
        _room.release()
