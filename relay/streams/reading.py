"""Reads the events of a stream from the rows: the present task, and the events after a
generation."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import transaction

from relay.models import Artifact, Event, Task
from relay.protocol import dialects, jsonrpc, stream_events
from relay.protocol.dialects import Json
from relay.protocol.versions import Version
from relay.tasks import transitions

EVENTS_AT_ONCE = 100
# A read stops after this many bytes, so that a client that returns late costs no more memory.
BYTES_AT_ONCE = 1_000_000
IDS_AT_ONCE = 500
BEGINNINGS = {Task.State.SUBMITTED, Task.State.WORKING}
# A snapshot is read again while the task changes. After this many attempts the snapshot is read
# under the task's lock.
ATTEMPTS = 3


@dataclass(slots=True)
class NextEvents:
    """Holds the next events of a task in their wire form, and the generation up to which they were
    read. `direct` is the message with which the agent answered instead of the task."""

    seen: int
    chunks: list[bytes] = field(default_factory=list)
    direct: bytes = b""
    is_over: bool = False
    has_more: bool = False
    # True if the caller learns more than that the run has begun.
    is_news: bool = False


def events_after(
    task_id: UUID, seen: int, version: Version, request: jsonrpc.Id, *, ends: Collection[str]
) -> NextEvents:
    """Returns the events after the generation `seen` as chunks of a stream. The stream is over
    after an event with a state in `ends`, unless the task has gone on. Content that was replaced
    later is left out, because its replacement follows."""
    task = Task.objects.select_related("context").get(pk=task_id)
    rows = task.events.filter(generation__gt=seen).order_by("generation")
    # Reads one row more than it returns. If that row exists, the last returned event is not the
    # newest.
    events = list(rows.select_related("message")[: EVENTS_AT_ONCE + 1])
    batch, size, artifacts = NextEvents(seen), 0, _Artifacts()
    for event in events[:EVENTS_AT_ONCE]:
        event.task = task
        is_newest = event is events[-1]
        is_end = event.kind == Event.Kind.STATUS and event.state in ends and is_newest
        parts = artifacts.load(event)
        if event.kind != Event.Kind.MESSAGE and not event.is_replaced:
            body = stream_events.write_event(event, parts, version, final=is_end)
            if is_newest and (digest := _digest_at(event)):
                change: Json = next(iter(body.values())) if version == "1.0" else body
                change["metadata"][dialects.DIGEST] = digest
            id = stream_events.id_of(task_id, event.generation)
            batch.chunks.append(stream_events.write_answer(request, body, id=id))
            size += len(batch.chunks[-1])
        batch.seen, batch.is_over = event.generation, is_end
        batch.is_news |= event.message_id is not None or event.state not in BEGINNINGS
        if size > BYTES_AT_ONCE:
            break
    batch.has_more = bool(events) and not batch.is_over and not is_newest
    if batch.is_over and event.message and _is_direct(task_id):
        message = dialects.write_message(event.message, version)
        result = {"message": message} if version == "1.0" else message
        batch.direct = stream_events.write_answer(request, result)
    return batch


def _digest_at(event: Event) -> Json | None:
    """Returns the digest of the question that the task asks with this event, as the task's metadata
    has it, or None. Returns None if the task has gone on meanwhile, because it may ask something
    else now."""
    if event.kind != Event.Kind.STATUS or event.state != Task.State.INPUT_REQUIRED:
        return None
    task = copy(event.task)  # it may have been read before the event
    task.state, task.generation = event.state, event.generation
    (body,) = dialects.write_tasks([task], "1.0", history_length=0, artifacts=False)
    digest: Json | None = body.get("metadata", {}).get(dialects.DIGEST)
    is_newest = Task.objects.filter(pk=event.task_id, generation=event.generation).exists()
    return digest if is_newest else None


def _is_direct(task_id: UUID) -> bool:
    """Returns whether the agent answered with a message instead of the task. Reads the row again,
    because the run may have ended after the task was read."""
    return Task.objects.filter(pk=task_id, is_direct=True).exists()


class _Artifacts:
    """Loads the artifact of an event and its parts. Pieces of one artifact mostly follow each
    other, and each artifact may have 10 MB, so only one is in memory."""

    def __init__(self) -> None:
        self._artifact: Artifact | None = None
        self._parts: list[Json] = []

    def load(self, event: Event) -> list[Json]:
        if event.artifact_id is None:
            return []
        if self._artifact is None or self._artifact.pk != event.artifact_id:
            self._artifact = Artifact.objects.get(pk=event.artifact_id)
            self._parts = self._artifact.parts
        event.artifact = self._artifact
        return self._parts


def snapshot(task: Task, version: Version, *, history_length: int | None = None) -> Json:
    """Returns the present task in its wire form, and updates `task`. The status, artifacts and
    messages of the snapshot belong to the same generation, so that a later event repeats none of
    them."""
    for _ in range(ATTEMPTS):
        body = _read_again(task, version, history_length)
        if task.generation == Task.objects.values_list("generation", flat=True).get(pk=task.pk):
            return body
    with transaction.atomic():
        transitions.lock(task.pk)
        return _read_again(task, version, history_length)


def _read_again(task: Task, version: Version, history_length: int | None) -> Json:
    task.refresh_from_db(from_queryset=Task.objects.select_related("context", "status_message"))
    body = dialects.write_task(task, version, history_length=history_length)
    return stream_events.write_first(task, body, version)


def generations(task_ids: Collection[UUID], *, at: datetime) -> dict[UUID, int]:
    """Returns the generation of each of these tasks whose caller may still call."""
    ids = list(task_ids)
    newest: dict[UUID, int] = {}
    for start in range(0, len(ids), IDS_AT_ONCE):
        tasks = Task.objects.filter(pk__in=ids[start : start + IDS_AT_ONCE]).admitted(at)
        newest.update(tasks.values_list("pk", "generation"))
    return newest
