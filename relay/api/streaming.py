"""Serves the two methods that stream (1.0, 3.1.2 and 3.1.6).

A disconnected client that returns with `Last-Event-ID` gets the events that it missed, and no event
twice. The client may also repeat the request that sent the message. The message is then not sent
again.
"""

from __future__ import annotations

from database.clock import database_now
from database.uuids import NIL
from relay.api.calls import AgentCall, UnsupportedOperation, accept_message, own_task, room_to_write
from relay.models import Message, Task
from relay.protocol import dialects, stream_events
from relay.protocol.dialects import Json
from relay.protocol.fields import InvalidParams
from relay.runs import presence
from relay.streams import places, reading
from relay.streams.stream import TaskStream
from relay.tasks import lifecycle
from wake.api.stream_places import StreamPlace

HEADER = "Last-Event-ID"
HAS_ENDED = "This task has ended: read it with GetTask (0.3: tasks/get)."
NOT_ITS = "Not an id of an event of this task. Leave it out, and the stream begins with the task."
# A send is over when the agent has answered or asks a question.
ENDS_OF_A_TURN = frozenset(Task.TERMINAL | Task.INTERRUPTED)


def send(call: AgentCall) -> TaskStream:
    """Sends a message and streams its task. The place is taken first: without a place, nothing is
    stored."""
    call.check_streaming()
    place = places.take(call.caller, call.network)
    try:
        return _sent_before(call, place) if call.last_event_id else _send(call, place)
    except BaseException:
        place.give_back()
        raise


def subscribe(call: AgentCall) -> TaskStream:
    """Streams a task that has not ended, or the events that a reconnecting client missed. In 1.0
    the stream is over when the task has ended (3.1.6), in 0.3 also when the agent asks a
    question."""
    call.check_streaming()
    task = own_task(call, "id")
    seen = _seen(call, task) if call.last_event_id else None
    has_missed = seen is not None and seen < task.generation and task.erased_at is None
    if task.is_terminal and not has_missed:
        raise UnsupportedOperation(HAS_ENDED)
    ends = frozenset(Task.TERMINAL) if call.version == "1.0" else ENDS_OF_A_TURN
    place = places.take(call.caller, call.network)
    try:
        if seen is not None:
            return _stream(call, task, place, seen=seen, ends=ends)
        return _whole(call, task, place, ends)
    except BaseException:
        place.give_back()
        raise


def _send(call: AgentCall, place: StreamPlace) -> TaskStream:
    task, configuration = accept_message(call)
    body = reading.snapshot(task, call.version, history_length=configuration.history_length)
    is_over = task.state in ENDS_OF_A_TURN
    if message := lifecycle.reply_with(task).message:
        body = dialects.write_message(message, call.version)
        body = {"message": body} if call.version == "1.0" else body
    is_new = not call.params.inner("message").get("taskId")
    is_held = is_new and not is_over and presence.takes_runs(task.agent, at=database_now())
    stream = _stream(call, task, place, body=body, is_held=is_held, is_over=is_over)
    # The message is stored, so nothing may be refused now.
    place.reserve(len(stream.first), always=True)
    return stream


def _whole(call: AgentCall, task: Task, place: StreamPlace, ends: frozenset[str]) -> TaskStream:
    """Returns a stream that begins with the whole task; raises TooManyStreams."""
    with room_to_write(task):
        body = reading.snapshot(task, call.version)
    stream = _stream(call, task, place, body=body, ends=ends, is_over=task.is_terminal)
    if not place.reserve(len(stream.first)):
        raise places.TooManyStreams(places.UNREAD)
    return stream


def _sent_before(call: AgentCall, place: StreamPlace) -> TaskStream:
    """Returns the rest of the stream that this message began earlier."""
    message_id = call.params.inner("message").needed_id("messageId")
    task_id, _ = stream_events.read_id(call.last_event_id) or (NIL, 0)
    sent = Message.objects.filter(task=task_id, message_id=message_id, source=Message.Source.CALLER)
    tasks = Task.objects.of_caller(call.card.agent, call.caller).select_related("context")
    task = tasks.filter(pk__in=sent.values("task")).first()
    if task is None:
        raise InvalidParams(HEADER, NOT_ITS)
    seen = _seen(call, task)
    is_over = seen == task.generation and task.state in ENDS_OF_A_TURN
    if task.is_terminal and (is_over or task.erased_at):
        raise UnsupportedOperation(HAS_ENDED)
    return _stream(call, task, place, seen=seen, is_over=is_over)


def _seen(call: AgentCall, task: Task) -> int:
    """Returns the generation of the last event that the client has; raises InvalidParams."""
    named = stream_events.read_id(call.last_event_id)
    if named is None or named[0] != task.pk or not 0 < named[1] <= task.generation:
        raise InvalidParams(HEADER, NOT_ITS)
    return named[1]


def _stream(
    call: AgentCall,
    task: Task,
    place: StreamPlace,
    *,
    body: Json | None = None,
    seen: int | None = None,
    ends: frozenset[str] = ENDS_OF_A_TURN,
    is_held: bool = False,
    is_over: bool = False,
) -> TaskStream:
    """Returns a stream that begins with `body`, or after the generation `seen`."""
    seen = task.generation if seen is None else seen
    id = stream_events.id_of(task.pk, seen)
    return TaskStream(
        task_id=task.pk,
        seen=seen,
        version=call.version,
        request=call.id,
        ends=ends,
        place=place,
        write_error=call.write_error,
        first=b"" if body is None else stream_events.write_answer(call.id, body, id=id),
        is_held=is_held,
        is_over=is_over,
    )
