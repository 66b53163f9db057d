"""Takes in what connectors report of their leased runs: that they began, their progress and their
results."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.conf import settings
from django.db import transaction

from accounts.audit import agent_actor, record
from relay.content import blobs
from relay.content.compact_json import dumps
from relay.models import Artifact, Card, Message, Run, Task
from relay.protocol.dialects import Json
from relay.protocol.fields import Fields
from relay.protocol.parts import PARTS_AT_MOST
from relay.runs import queue as run_queue
from relay.runs.queue import LeaseLost
from relay.runs.results import HIGHEST_NUMBER, ReportedArtifact, failed, read_artifact, read_result
from relay.tasks import room, transitions
from relay.tasks.transitions import Piece

State = Task.State

# A task with this many messages ignores the text of further progress reports. The other half of
# lifecycle.MESSAGES_AT_MOST is for callers, people and results.
WORDS_WITHIN = 500
# A task with this many events refuses further pieces of artifacts, because each is also a push.
PIECES_WITHIN = 2_000
ARTIFACTS_AT_MOST = 1_000
CONTENT = ["name", "description", "parts_json", "metadata_json", "begins"]


class ResultTooLarge(Exception):
    """This task has produced more than Wake stores for one task."""


@transaction.atomic
def begin(run: Run, lease: uuid.UUID, *, at: datetime) -> None:
    """Notes that the command was started, and sets the task to working; raises LeaseLost."""
    task = transitions.lock(run.task_id)
    run = run_queue.leased_run(run, lease)
    if run.state == Run.State.LEASED:
        run.state = Run.State.ACKED
        run.started_at = run.started_at or at
        run.save(update_fields=["state", "started_at"])
    if task.state == State.SUBMITTED:
        transitions.transition(task.pk, State.WORKING, at=at)


@transaction.atomic
def record_progress(run: Run, lease: uuid.UUID, report: Json, *, at: datetime) -> bool:
    """Takes in the progress `{n, text?, artifact?}` of a run: a message to the caller, or a piece
    of an artifact. `n` counts up within a run, and a repeated report changes nothing. Messages
    beyond the limit are ignored; artifacts beyond it are refused. Returns whether something was
    stored; raises LeaseLost, InvalidParams, ResultTooLarge."""
    task = transitions.lock(run.task_id)
    run = run_queue.leased_run(run, lease)
    progress = Fields(report, "progress")
    number, text = progress.number("n", low=1, high=HIGHEST_NUMBER) or 0, progress.text("text")
    if task.is_terminal or 0 < number <= run.progress:
        return False
    artifact = (
        read_artifact(progress.inner("artifact")) if progress.get("artifact") is not None else None
    )
    run.progress = number or run.progress
    run.save(update_fields=["progress"])
    if artifact and task.generation >= PIECES_WITHIN:
        raise ResultTooLarge(f"A task has at most {PIECES_WITHIN:,} events before its result.")
    has_message = bool(text) and task.messages.count() < WORDS_WITHIN
    if artifact:
        _store_all(task, [artifact], ends_in_status=has_message, at=at)
    if has_message:
        message = transitions.add_message(task, Message.Source.AGENT, [{"text": text}], at=at)
        transitions.transition(task.pk, State.WORKING, message=message, at=at)
    return bool(artifact) or has_message


@transaction.atomic
def finish(run: Run, lease: uuid.UUID, result: Json, *, at: datetime) -> bool:
    """Takes in one result of a run, under its current lease only (results.read_result describes its
    shape); returns whether it was taken. A result for a task that has ended meanwhile is dropped,
    and the audit records that it came."""
    task = transitions.lock(run.task_id)
    try:
        run = run_queue.leased_run(run, lease)
    except LeaseLost:
        return False
    run.state, run.finished_at = Run.State.DONE, at
    run.save(update_fields=["state", "finished_at"])
    outcome = read_result(result)
    by = agent_actor(task.agent)
    if task.is_terminal:
        record(
            "task.result_came_late",
            by=by,
            of=task,
            team=task.agent.team_id,
            at=at,
            state=outcome.state,
        )
        return False
    try:
        # The result repeats the pieces that were sent while the command worked.
        missing = [one for one in outcome.artifacts if not 0 < one.number <= run.progress]
        _store_all(task, missing, ends_in_status=True, at=at)
    except ResultTooLarge as reason:
        outcome = failed(f"The agent's answer cannot be stored: {reason}")
    message = None
    if outcome.parts:
        source, metadata = Message.Source.AGENT, outcome.metadata
        message = transitions.add_message(task, source, outcome.parts, metadata=metadata, at=at)
    state = _next_state(task, outcome.state, at=at)
    if outcome.is_direct and state == outcome.state:
        Task.objects.filter(pk=task.pk).update(is_direct=True)
    transitions.transition(task.pk, state, message=message, by=by, at=at)
    return True


def _next_state(task: Task, ended: State, *, at: datetime) -> State:
    """Returns the state of a task whose run has ended. If the caller wrote meanwhile, the next run
    is waiting, and the task goes on. A question to people is asked all the same: they see what the
    caller wrote, and so does the run that follows their answer."""
    if ended in {State.FAILED, State.REJECTED}:
        return ended
    if ended == State.INPUT_REQUIRED:
        policy = Card.objects.values_list("reply_policy", flat=True).get(agent=task.agent)
        if policy == Card.ReplyPolicy.OWNER:
            run_queue.drop_queued(task, at=at)
    is_queued = Run.objects.filter(task=task, state=Run.State.QUEUED).exists()
    return State.SUBMITTED if is_queued else ended


@transaction.atomic
def _store_all(
    task: Task, artifacts: list[ReportedArtifact], *, ends_in_status: bool, at: datetime
) -> None:
    """Stores all artifacts or none, in a number of statements that does not grow with theirs. One
    with the id of an earlier one replaces or continues it. Raises ResultTooLarge."""
    if not artifacts:
        return
    ids = {reported.artifact_id for reported in artifacts}
    there = {row.artifact_id: row for row in task.artifacts.filter(artifact_id__in=ids)}
    if task.artifacts.count() + len(ids) - len(there) > ARTIFACTS_AT_MOST:
        raise ResultTooLarge(f"A task has at most {ARTIFACTS_AT_MOST:,} artifacts.")
    before = sum(len(row.parts_json) for row in there.values())
    stored = [blobs.store_large(task, reported.parts, at) for reported in artifacts]
    pairs = enumerate(zip(artifacts, stored, strict=True), task.generation + 1)
    pieces = [
        _add(task, reported, parts, there, generation=generation, at=at)
        for generation, (reported, parts) in pairs
    ]
    size = sum(len(row.parts_json) for row in there.values()) - before
    transitions.count_bytes(task, size + sum(map(blobs.bytes_of, stored)))
    try:
        room.check_task(task)
    except room.TaskIsFull as reason:
        raise ResultTooLarge(str(reason)) from reason
    new = [row for row in there.values() if row._state.adding]
    changed = [row for row in there.values() if not row._state.adding]
    Artifact.objects.bulk_create(new, batch_size=transitions.AT_ONCE)
    Artifact.objects.bulk_update(changed, CONTENT, batch_size=transitions.AT_ONCE)
    transitions.emit_artifacts(task, pieces, ends_in_status=ends_in_status, at=at)


def _add(
    task: Task,
    reported: ReportedArtifact,
    parts: list[Json],
    there: dict[str, Artifact],
    *,
    generation: int,
    at: datetime,
) -> Piece:
    """Writes what was reported into the row of its artifact, and adds a new row to `there`. `parts`
    are as rows store them. Returns the piece; raises ResultTooLarge."""
    row, before = there.get(reported.artifact_id), 0
    if row is None:
        row = there[reported.artifact_id] = Artifact(
            task=task, artifact_id=reported.artifact_id, begins=generation, created_at=at
        )
    elif reported.append:
        before, parts = len(row.parts), _together(row.parts, parts)
    else:
        row.begins = generation
    row.parts_json = dumps(parts)
    row.name = reported.name or row.name
    row.description = reported.description or row.description
    row.metadata_json = dumps(reported.metadata) if reported.metadata else row.metadata_json
    return Piece(row, before, len(parts) - before, reported.is_last)


def _together(there: list[Json], more: list[Json]) -> list[Json]:
    """Joins the pieces of an artifact, which together may be no larger than one that comes at once;
    raises ResultTooLarge."""
    parts = there + more
    if len(parts) > PARTS_AT_MOST:
        raise ResultTooLarge(f"An artifact has at most {PARTS_AT_MOST:,} parts.")
    if len(dumps(parts).encode()) > settings.WAKE_MAX_A2A_BYTES:
        raise ResultTooLarge(f"An artifact has at most {settings.WAKE_MAX_A2A_BYTES:,} bytes.")
    return parts
