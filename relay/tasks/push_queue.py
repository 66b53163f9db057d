"""Makes the pushes of committed events, and queues them as callbacks.

The event is the queue: `push_due_at` says that its pushes are due. Pushes are made without the
agent's lock and in small transactions, because storing the pushes of a large result for several
receivers takes seconds (docs/decisions/0048-pushes-are-made-from-events.md).
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import QuerySet, prefetch_related_objects

from database import encryption
from database.encrypted_columns import length_of
from database.encryption import Unreadable
from database.sweeps import give_way, sweep_together
from relay.models import (
    Artifact,
    Event,
    EventQuerySet,
    Message,
    PushConfig,
    PushNotification,
    Task,
)
from relay.protocol import stream_events
from relay.protocol.dialects import DIGEST, Json, write_tasks
from relay.protocol.stream_events import GENERATION
from relay.protocol.versions import Version
from relay.tasks.pushes import HOP, KIND, TOKEN_HEADER
from wake.callbacks import traces
from wake.callbacks.outbox import CallbackPost, queue_others
from wake.wire import encode

log = logging.getLogger(__name__)

EVENTS_AT_ONCE = 100
# A transaction stops after this many bytes, because SQLite has one writer at a time.
BYTES_AT_ONCE = 4_000_000
ROWS_AT_ONCE = 500  # rows in one statement
# Limits the artifacts of one transaction's pushes. An agent of another server takes 10 MB.
LONGEST_TASK = 8_000_000
# A failed event is tried again after this time. Other events do not wait for a failed event.
PAUSE = timedelta(minutes=1)
# 1.0 has its own media type for content that is not JSON-RPC (1.0.1, 14.1).
CONTENT_TYPES: Mapping[Version, str] = {"1.0": "application/a2a+json", "0.3": "application/json"}
STOPPED = Task.TERMINAL | Task.INTERRUPTED
NO_KEY = "WAKE_ENCRYPTION_KEYS lacks the key of a row"

Bodies = dict[tuple[int, Version], bytes]


def queue_due(*, at: datetime, bytes_at_once: int = BYTES_AT_ONCE) -> int:
    """Queues the pushes of all due events: one push for each config of the event's task. Each
    transaction queues about `bytes_at_once` bytes. Returns how many events and pushes it
    settled."""
    due = Event.objects.with_due_pushes(at).select_related("task__agent", "task__context")
    postpone = partial(_postpone, to=at + PAUSE)
    queue = partial(_queue, bytes_at_once=bytes_at_once)
    settled, began = 0, time.monotonic()
    while some := sweep_together(
        due, queue, what="events", at_once=EVENTS_AT_ONCE, postpone=postpone
    ):
        settled += some
        give_way(since=began)
        began = time.monotonic()
    return settled


def queue_due_of(task: Task, *, at: datetime) -> None:
    """Queues the pushes of past events of one task, before one of its configs is deleted. Waits for
    a sweep that is making them."""
    due = Event.objects.with_due_pushes(at).filter(task=task)
    while _queue_first(due):
        pass


@transaction.atomic
def _queue_first(due: EventQuerySet) -> bool:
    """Queues pushes of the first due event, and returns whether there was one. The event may have
    more pushes left."""
    first = due.select_related("task__agent", "task__context").select_for_update(of=("self",))[:1]
    events = list(first)
    if events:
        _queue(events)
    return bool(events)


def _postpone(event_id: int, *, to: datetime) -> None:
    Event.objects.filter(pk=event_id).update(push_due_at=to)


def _queue(events: Sequence[Event], *, bytes_at_once: int = BYTES_AT_ONCE) -> int:
    """Queues pushes of the first of these events, up to the limit of one transaction. Records the
    queued pushes, so that the next transaction continues with the next config."""
    events = _loaded(events, bytes_at_once=bytes_at_once)
    receivers = _receivers(events)
    try:
        bodies = _bodies(events, receivers)
    except Unreadable:
        if len(events) > 1:
            raise  # the next attempt tries each event alone
        log.error("No push of task %s: %s", events[0].task_id, NO_KEY)  # noqa: TRY400
        receivers, bodies = {}, {}
    made: list[tuple[Event, PushConfig, CallbackPost]] = []
    settled, size = [], 0
    for event in events:
        for config in receivers.get(event.pk, ()):
            if size > bytes_at_once:
                break
            if post := _post(event, config, bodies):
                made.append((event, config, post))
                size += len(post.body)
        else:
            settled.append(event.pk)
    _store(made)
    Event.objects.filter(pk__in=settled).update(push_due_at=None)
    return len(made) + len(settled)


def _loaded(events: Sequence[Event], *, bytes_at_once: int) -> list[Event]:
    """Returns the first events with their messages and artifacts, as many as fit into memory."""
    messages = [event.message_id for event in events if event.message_id]
    artifacts = [event.artifact_id for event in events if event.artifact_id]
    message_bytes = _lengths(Message.objects.filter(pk__in=messages))
    artifact_bytes = _lengths(Artifact.objects.filter(pk__in=artifacts))
    first: list[Event] = []
    size = 0
    for event in events:
        size += message_bytes.pop(event.message_id, 0)
        # Each artifact is counted once for all of its pieces.
        size += artifact_bytes.pop(event.artifact_id, 0)
        size += event.task.stored_bytes if event.state in STOPPED else 0
        if first and size > bytes_at_once:
            break
        first.append(event)
    prefetch_related_objects(first, "message", "artifact")
    return first


def _lengths(rows: QuerySet[Any]) -> dict[int | None, int]:
    return dict(rows.values_list("pk", length_of("parts_json")))


def _receivers(events: Sequence[Event]) -> dict[int, list[PushConfig]]:
    """Returns the configs that still need a push of each event."""
    configs = defaultdict(list)
    for config in PushConfig.objects.filter(task__in={event.task_id for event in events}):
        configs[config.task_id].append(config)
    notifications = PushNotification.objects.filter(
        config__task__in=list(configs), generation__in={event.generation for event in events}
    )
    made = set(notifications.values_list("config_id", "generation"))
    return {
        event.pk: [
            config
            for config in configs[event.task_id]
            if _is_told(config, event) and (config.pk, event.generation) not in made
        ]
        for event in events
    }


def _is_told(config: PushConfig, event: Event) -> bool:
    """Returns whether a config gets a push of this event. In 0.3 a push is the whole task, so a
    push for each artifact would repeat all earlier artifacts. Instead, the artifacts are pushed
    when the task stops. Replaced content is left out, because its replacement follows."""
    is_new = event.generation > config.after_generation and not event.is_replaced
    return is_new and (_version(config) == "1.0" or event.kind == Event.Kind.STATUS)


def _version(config: PushConfig) -> Version:
    return "0.3" if config.wire_version == "0.3" else "1.0"


def _bodies(events: Sequence[Event], receivers: Mapping[int, Sequence[PushConfig]]) -> Bodies:
    """Returns the body of each push by its event and version; raises Unreadable."""
    bodies: Bodies = {}
    versions: tuple[Version, ...] = ("1.0", "0.3")
    for version in versions:
        asked_for = [
            event
            for event in events
            if any(_version(config) == version for config in receivers[event.pk])
        ]
        for event, body in _written(asked_for, version):
            of_us: Json = {GENERATION: event.generation, HOP: event.task.hop}
            holder = body if version == "0.3" else next(iter(body.values()))
            if digest := holder.get("metadata", {}).get(DIGEST):
                of_us[DIGEST] = digest
            holder["metadata"] = of_us
            bodies[event.pk, version] = encode(body)
    return bodies


def _written(events: Sequence[Event], version: Version) -> Iterator[tuple[Event, Json]]:
    """Writes pushes: in 0.3 the task (9.5), in 1.0 a StreamResponse (4.3.3). When a task waits for
    input or has ended, the body is the whole task, so that the receiver need not fetch the task.
    Otherwise the body is only the change, or in 0.3 the task without its artifacts."""
    whole = [event for event in events if _is_stop(event)]
    tasks = [_as_of(event) for event in whole]
    bodies = write_tasks(tasks, version, history_length=0, longest=LONGEST_TASK)
    for event, body in zip(whole, bodies, strict=True):
        yield event, {"task": body} if version == "1.0" else body
    others = [event for event in events if not _is_stop(event)]
    if version == "0.3":
        tasks = [_as_of(event) for event in others]
        bodies = write_tasks(tasks, version, history_length=0, artifacts=False)
        yield from zip(others, bodies, strict=True)
        return
    parts: dict[int, list[Json]] = {}
    for event in others:
        if event.artifact and event.artifact.pk not in parts:
            parts[event.artifact.pk] = event.artifact.parts
        own = parts[event.artifact.pk] if event.artifact else []
        yield event, stream_events.write_event(event, own, version, final=False)


def _is_stop(event: Event) -> bool:
    return event.kind == Event.Kind.STATUS and event.state in STOPPED


def _as_of(event: Event) -> Task:
    """Returns a copy of the task with the status at the time of the event. The task itself may have
    a newer status."""
    task = copy(event.task)
    task.state, task.status_at, task.status_message = event.state, event.at, event.message
    return task


def _post(event: Event, config: PushConfig, bodies: Bodies) -> CallbackPost | None:
    """Returns a push. Returns None if the config cannot be decrypted, so that the other pushes do
    not wait for it."""
    try:
        url, headers = config.url, _headers(config, event.task)
    except Unreadable:
        text = "No push of task %s to config %s: %s"
        log.error(text, event.task_id, config.pk, NO_KEY)  # noqa: TRY400 - the trace says no more
        return None
    body = bodies[event.pk, _version(config)]
    return CallbackPost(event.task.agent, event.task_id, url, body, headers, due_at=event.at)


def _headers(config: PushConfig, task: Task) -> Mapping[str, str]:
    """Returns the headers of a push. A config with a scheme and no credentials sends the token as
    credentials, because some callers give a token and some give credentials (docs/a2a.md, Push
    notifications)."""
    token = _decrypted(config.token_ciphertext)
    credentials = _decrypted(config.credentials_ciphertext) or token
    headers = {"Content-Type": CONTENT_TYPES[_version(config)]}
    if config.scheme and credentials:
        headers["Authorization"] = f"{config.scheme} {credentials}"
    if token:
        headers[TOKEN_HEADER] = token
    if task.traceparent:
        headers[traces.HEADER] = task.traceparent
    return headers


def _decrypted(token: str) -> str:
    """Decrypts a secret; raises encryption.Unreadable."""
    return encryption.decrypt(token.encode()).decode() if token else ""


def _store(made: Sequence[tuple[Event, PushConfig, CallbackPost]]) -> None:
    callbacks = queue_others([post for _, _, post in made], kind=KIND.name)
    PushNotification.objects.bulk_create(
        (
            PushNotification(
                config=config,
                task_id=event.task_id,
                generation=event.generation,
                callback=callback,
            )
            for (event, config, _), callback in zip(made, callbacks, strict=True)
        ),
        batch_size=ROWS_AT_ONCE,
    )
