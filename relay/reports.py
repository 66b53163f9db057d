"""Takes in what machines report of the runs that were leased to them: begun, getting on, done."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import transaction

from accounts.audit import agent_actor, record
from relay import blobs, dispatches, moves
from relay.compact import dumps
from relay.dispatches import LeaseLost
from relay.fields import Fields
from relay.models import Artifact, Dispatch, Event, Message, Task
from relay.results import Made, read_artifact, read_result
from relay.wire import Json

State = Task.State


@transaction.atomic
def begin(dispatch: Dispatch, lease: uuid.UUID, *, at: datetime) -> None:
    """The command was started, and the task says so; raises LeaseLost."""
    task = moves.lock(dispatch.task_id)
    run = dispatches.held(dispatch, lease)
    if run.state == Dispatch.State.LEASED:
        run.state = Dispatch.State.ACKED
        run.started_at = run.started_at or at
        run.save(update_fields=["state", "started_at"])
    if task.state == State.SUBMITTED:
        moves.transition(task.pk, State.WORKING, at=at)


@transaction.atomic
def get_on(dispatch: Dispatch, lease: uuid.UUID, report: Json, *, at: datetime) -> bool:
    """`{n, text?, artifact?}` of a run that goes on: a word for who waits, or a piece of what is
    being made. `n` counts up within a run, and one that was heard before changes nothing. False
    where nothing was written; raises LeaseLost, InvalidParams."""
    task = moves.lock(dispatch.task_id)
    run = dispatches.held(dispatch, lease)
    given = Fields(report, "progress")
    number, text = given.number("n", low=1, high=2**31 - 1) or 0, given.text("text")
    if task.is_terminal or 0 < number <= run.progress:
        return False
    made = read_artifact(given.inner("artifact")) if given.get("artifact") is not None else None
    run.progress = number or run.progress
    run.save(update_fields=["progress"])
    if made:
        _keep(task, made, at=at)
    if text:
        message = moves.say(task, Message.Source.AGENT, [{"text": text}], at=at)
        moves.transition(task.pk, State.WORKING, message=message, at=at)
    return bool(made or text)


@transaction.atomic
def finish(dispatch: Dispatch, lease: uuid.UUID, result: Json, *, at: datetime) -> bool:
    """Takes one result of a run, and only from whom it is leased to now (results.read_result says
    of which shape); False where it was not taken. One for a task that has ended meanwhile is too
    late: it is dropped, and the audit keeps that it was there."""
    task = moves.lock(dispatch.task_id)
    try:
        run = dispatches.held(dispatch, lease)
    except LeaseLost:
        return False
    run.state, run.finished_at = Dispatch.State.DONE, at
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
    for made in outcome.artifacts:
        _keep(task, made, at=at)
    message = None
    if outcome.parts:
        source, metadata = Message.Source.AGENT, outcome.metadata
        message = moves.say(task, source, outcome.parts, metadata=metadata, at=at)
    if outcome.is_direct:
        Task.objects.filter(pk=task.pk).update(is_direct=True)
    moves.transition(task.pk, outcome.state, message=message, by=by, at=at)
    return True


def _keep(task: Task, made: Made, *, at: datetime) -> None:
    """The same id again is the same artifact: replaced, or gone on with."""
    parts = blobs.store_large(task, made.parts, at)
    row = Artifact.objects.filter(task=task, artifact_id=made.artifact_id).first()
    if row is None:
        row = Artifact(task=task, artifact_id=made.artifact_id, created_at=at)
    elif made.append:
        parts = row.parts + parts
    row.name = made.name or row.name
    row.description = made.description or row.description
    row.parts_json = dumps(parts)
    row.metadata_json = dumps(made.metadata) if made.metadata else row.metadata_json
    row.save()
    moves.note(task, Event.Kind.ARTIFACT, artifact=row, at=at)
