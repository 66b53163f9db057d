"""Stores the artifacts that runs report.

Deliveries of an agent wait for its lock, so large content is stored before the lock is taken, under
ids that no reader looks for. Under the lock these rows get their final ids.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db import transaction

from relay.content import blobs
from relay.content.compact_json import bytes_in, dumps
from relay.models import Artifact, Blob, Task
from relay.protocol.dialects import Json
from relay.protocol.parts import MAX_PARTS
from relay.runs.results import MAX_ARTIFACTS, ReportedArtifact
from relay.tasks import room, transitions
from relay.tasks.transitions import Piece

# In bytes of JSON. Shorter content is stored under the lock, which saves a statement.
LONG = 65_536
ADOPTED = ["artifact_id", "begins"]
CONTENT = ["name", "description", "parts_json", "metadata_json", "begins"]


class ResultTooLarge(Exception):
    """This task has produced more than Wake stores for one task."""


@dataclass(slots=True)
class Prepared:
    """Holds reported artifacts with their parts in the form that rows store. `rows` has the rows
    that are stored already, by their place among the artifacts."""

    artifacts: Sequence[ReportedArtifact]
    parts: list[list[Json]]
    rows: dict[int, Artifact] = field(default_factory=dict)

    def discard(self) -> None:
        """Deletes the rows that `prepare` stored."""
        Artifact.objects.filter(pk__in=[row.pk for row in self.rows.values()]).delete()
        self.discard_files(range(len(self.parts)))

    def discard_files(self, numbers: Iterable[int]) -> None:
        """Deletes the large files of these artifacts."""
        _delete_files(part for number in numbers for part in self.parts[number])


def prepare(task_id: uuid.UUID, artifacts: Sequence[ReportedArtifact], *, at: datetime) -> Prepared:
    """Stores large files and large content before the agent is locked. Runs inside the transaction
    that then calls `store` or `discard`."""
    parts = blobs.store_all_large(task_id, [reported.parts for reported in artifacts], at)
    prepared = Prepared(artifacts, parts)
    rows = {
        number: _row(task_id, reported, parts[number], str(uuid.uuid4()), at=at)
        for number, reported in enumerate(artifacts)
        if not (reported.append or reported.number)
    }
    if sum(map(_bytes_of, rows.values())) > LONG:
        prepared.rows = rows
        Artifact.objects.bulk_create(rows.values(), batch_size=transitions.AT_ONCE)
    return prepared


@transaction.atomic
def store(task: Task, prepared: Prepared, *, at: datetime, seen: int = 0) -> None:
    """Stores all artifacts or none for a locked task. The number of statements does not grow with
    the number of artifacts. An artifact with the id of an earlier artifact replaces or continues
    the earlier artifact. Pieces with a number up to `seen` are already stored. Raises
    ResultTooLarge."""
    numbers = [n for n, one in enumerate(prepared.artifacts) if not 0 < one.number <= seen]
    prepared.discard_files(set(range(len(prepared.artifacts))) - set(numbers))
    if not numbers:
        return
    ids = {prepared.artifacts[number].artifact_id for number in numbers}
    there = {row.artifact_id: row for row in task.artifacts.filter(artifact_id__in=ids)}
    count = task.artifacts.count() - len(prepared.rows)
    if count + len(ids) - len(there) > MAX_ARTIFACTS:
        raise ResultTooLarge(f"A task has at most {MAX_ARTIFACTS:,} artifacts.")
    writing = _Writing(task, prepared, there, at)
    before = sum(map(_bytes_of, there.values()))
    pieces = [
        writing.add(number, generation=generation)
        for generation, number in enumerate(numbers, task.generation + 1)
    ]
    size = sum(map(_bytes_of, there.values())) - before
    size += sum(blobs.bytes_of(prepared.parts[number]) for number in numbers)
    size -= blobs.bytes_of(writing.replaced)
    transitions.count_bytes(task, size)
    check_room(task)
    writing.save()
    transitions.emit_artifacts(task, pieces, at=at)


def check_room(task: Task) -> None:
    """Raises ResultTooLarge if the task is above the limit of a task, or its context above the
    limit of a context."""
    try:
        room.check_task(task)
        room.check_context(task.context)
    except (room.TaskIsFull, room.ContextIsFull) as reason:
        raise ResultTooLarge(str(reason)) from reason


@dataclass(slots=True)
class _Writing:
    """Writes artifacts into their rows. `there` has the rows of the task by their ids. `replaced`
    collects the replaced parts."""

    task: Task
    prepared: Prepared
    there: dict[str, Artifact]
    at: datetime
    adopted: list[Artifact] = field(default_factory=list)
    new: list[Artifact] = field(default_factory=list)
    changed: dict[str, Artifact] = field(default_factory=dict)
    replaced: list[Json] = field(default_factory=list)

    def add(self, number: int, *, generation: int) -> Piece:
        """Writes one artifact. Raises ResultTooLarge."""
        reported, parts = self.prepared.artifacts[number], self.prepared.parts[number]
        row = self.there.get(reported.artifact_id)
        if row is None:
            row = self._new(number, generation=generation)
            return Piece(row, 0, len(parts), reported.is_last)
        first = 0
        if reported.append:
            first, parts = len(row.parts), _together(row.parts, parts)
        else:
            row.begins = generation
            self.replaced += row.parts
        _write(row, reported, parts)
        self.changed[row.artifact_id] = row
        return Piece(row, first, len(parts) - first, reported.is_last)

    def _new(self, number: int, *, generation: int) -> Artifact:
        """Returns the row that is stored already, or a new one."""
        reported = self.prepared.artifacts[number]
        row = self.prepared.rows.get(number)
        if row is None:
            parts = self.prepared.parts[number]
            row = _row(self.task.pk, reported, parts, reported.artifact_id, at=self.at)
            self.new.append(row)
        else:
            row.artifact_id = reported.artifact_id
            self.adopted.append(row)
        row.begins = generation
        self.there[row.artifact_id] = row
        return row

    def save(self) -> None:
        new = {id(row) for row in self.new}
        changed = [row for row in self.changed.values() if id(row) not in new]
        Artifact.objects.bulk_create(self.new, batch_size=transitions.AT_ONCE)
        Artifact.objects.bulk_update(self.adopted, ADOPTED, batch_size=transitions.AT_ONCE)
        Artifact.objects.bulk_update(changed, CONTENT, batch_size=transitions.AT_ONCE)
        unused = {row.pk for row in self.prepared.rows.values()} - {row.pk for row in self.adopted}
        if unused:
            Artifact.objects.filter(pk__in=unused).delete()
        _delete_files(self.replaced)


def _delete_files(parts: Iterable[Json]) -> None:
    """Deletes the large files that these parts name."""
    if stored := [part["blob"] for part in parts if "blob" in part]:
        Blob.objects.filter(pk__in=stored).delete()


def _bytes_of(row: Artifact) -> int:
    """Returns the size of the row's text."""
    return bytes_in(row.name, row.description, row.parts_json, row.metadata_json)


def _row(
    task_id: uuid.UUID,
    reported: ReportedArtifact,
    parts: list[Json],
    artifact_id: str,
    *,
    at: datetime,
) -> Artifact:
    return Artifact(
        task_id=task_id,
        artifact_id=artifact_id,
        name=reported.name,
        description=reported.description,
        parts_json=dumps(parts),
        metadata_json=dumps(reported.metadata) if reported.metadata else "",
        created_at=at,
    )


def _write(row: Artifact, reported: ReportedArtifact, parts: list[Json]) -> None:
    row.parts_json = dumps(parts)
    row.name = reported.name or row.name
    row.description = reported.description or row.description
    row.metadata_json = dumps(reported.metadata) if reported.metadata else row.metadata_json


def _together(there: list[Json], more: list[Json]) -> list[Json]:
    """Joins the pieces of an artifact. Raises ResultTooLarge if they are together larger than an
    artifact that comes whole may be."""
    parts = there + more
    if len(parts) > MAX_PARTS:
        raise ResultTooLarge(f"An artifact has at most {MAX_PARTS:,} parts.")
    if bytes_in(dumps(parts)) > settings.WAKE_MAX_A2A_BYTES:
        raise ResultTooLarge(f"An artifact has at most {settings.WAKE_MAX_A2A_BYTES:,} bytes.")
    return parts
