"""Writes the events of a stream: JSON-RPC answers as Server-Sent Events (HTML, "Server-sent
events").

Each event of a task has an id, `TASK:GENERATION`. When a client connects again, it sends the last
id that it has (`Last-Event-ID`).
"""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from relay.content.compact_json import dumps
from relay.models import Artifact, Event, Task
from relay.protocol import dialects, jsonrpc
from relay.protocol.dialects import Json
from relay.protocol.versions import Version
from wake.wire import encode

# In the metadata of each sent object: counts the events of a task.
GENERATION = "wakeGeneration"
EVENT_ID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(\d{1,10})", re.ASCII)


def read_id(text: str) -> tuple[UUID, int] | None:
    """Returns the task and the generation of an event's id, or None for any other text."""
    match = EVENT_ID.fullmatch(text)
    return (UUID(match[1]), int(match[2])) if match else None


def write(body: Json, *, id: str = "") -> bytes:
    """Writes one event. JSON from `encode` has no line breaks."""
    name = b"id: " + id.encode() + b"\n" if id else b""
    return name + b"data: " + encode(body) + b"\n\n"


def write_answer(request: jsonrpc.Id, result: Any, *, id: str = "") -> bytes:
    return write(jsonrpc.answered(request, result), id=id)


def write_first(task: Task, body: Json, version: Version) -> Json:
    """Writes the task with which a stream begins. `body` is the task in its wire form."""
    metadata = {**body.get("metadata", {}), GENERATION: task.generation}
    body = body | {"metadata": metadata}
    return {"task": body} if version == "1.0" else body


def write_event(event: Event, parts: list[Json], version: Version, *, final: bool) -> Json:
    """Writes a change of a task, for streams and for pushes of 1.0. The written event contains only
    the new piece of an artifact, although `parts` are all parts of the artifact. In 0.3, `final`
    means that no event follows.
    """
    if event.artifact and event.part_count is not None:
        piece = parts[event.first_part : event.first_part + event.part_count]
        event.artifact = _only(piece, event.artifact)
    written = dialects.write_event(event, version)
    change: Json = next(iter(written.values())) if version == "1.0" else written
    if event.first_part:
        change["append"] = True
    if event.is_last_piece:
        change["lastChunk"] = True
    if version == "0.3" and event.kind == Event.Kind.STATUS:
        change["final"] = final
    change["metadata"] = {GENERATION: event.generation}
    return written


def id_of(task_id: UUID, generation: int) -> str:
    return f"{task_id}:{generation}"


def _only(parts: list[Json], artifact: Artifact) -> Artifact:
    return Artifact(
        artifact_id=artifact.artifact_id,
        name=artifact.name,
        description=artifact.description,
        parts_json=dumps(parts),
        metadata_json=artifact.metadata_json,
    )
