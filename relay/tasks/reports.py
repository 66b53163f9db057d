"""Takes in what machines report of the runs that were leased to them: begun, getting on, done."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.conf import settings
from django.db import transaction

from accounts.audit import agent_actor, record
from relay import blobs, dispatches, moves
from relay.compact import dumps
from relay.dispatches import LeaseLost
from relay.fields import Fields
from relay.models import Artifact, Dispatch, Event, Message, Task
from relay.results import Made, failed, read_artifact, read_result
from relay.wire import PARTS_AT_MOST, Json

State = Task.State

# Messages that a task may have before what a run says on its way is passed over: the other half
# (lifecycle.MESSAGES_AT_MOST) is for what people say to it and for what comes of it.
WORDS_WITHIN = 500
# Events that it may have before a run adds no more pieces: each is a push, too.
PIECES_WITHIN = 2_000
ARTIFACTS_AT_MOST = 1_000


class TooMuchMade(Exception):
    """This task has made more than is kept of it."""


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
    being made. `n` counts up within a run, and one that was heard before changes nothing. Words
    too many are passed over, a piece too many is not. False where nothing was written; raises
    LeaseLost, InvalidParams, TooMuchMade."""
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
        if task.generation >= PIECES_WITHIN:
            raise TooMuchMade(f"A task has at most {PIECES_WITHIN:,} events before its result.")
        _keep(task, made, at=at)
    says = bool(text) and task.messages.count() < WORDS_WITHIN
    if says:
        message = moves.say(task, Message.Source.AGENT, [{"text": text}], at=at)
        moves.transition(task.pk, State.WORKING, message=message, at=at)
    return bool(made) or says


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
    try:
        _keep_all(task, outcome.artifacts, at=at)
    except TooMuchMade as reason:
        outcome = failed(f"The agent's answer cannot be kept: {reason}")
    message = None
    if outcome.parts:
        source, metadata = Message.Source.AGENT, outcome.metadata
        message = moves.say(task, source, outcome.parts, metadata=metadata, at=at)
    if outcome.is_direct:
        Task.objects.filter(pk=task.pk).update(is_direct=True)
    moves.transition(task.pk, outcome.state, message=message, by=by, at=at)
    return True


@transaction.atomic
def _keep_all(task: Task, artifacts: list[Made], *, at: datetime) -> None:
    """Or none of them; raises TooMuchMade."""
    for made in artifacts:
        _keep(task, made, at=at)


def _keep(task: Task, made: Made, *, at: datetime) -> None:
    """The same id again is the same artifact: replaced, or gone on with. Raises TooMuchMade."""
    row = Artifact.objects.filter(task=task, artifact_id=made.artifact_id).first()
    if row is None:
        if task.artifacts.count() >= ARTIFACTS_AT_MOST:
            raise TooMuchMade(f"A task has at most {ARTIFACTS_AT_MOST:,} artifacts.")
        row = Artifact(task=task, artifact_id=made.artifact_id, created_at=at)
    parts = blobs.store_large(task, made.parts, at)
    if row.pk and made.append:
        parts = _together(row.parts, parts)
    row.parts_json = dumps(parts)
    row.name = made.name or row.name
    row.description = made.description or row.description
    row.metadata_json = dumps(made.metadata) if made.metadata else row.metadata_json
    row.save()
    moves.note(task, Event.Kind.ARTIFACT, artifact=row, at=at)


def _together(there: list[Json], more: list[Json]) -> list[Json]:
    """An artifact in pieces has no more in it than one that comes at once; raises TooMuchMade."""
    parts = there + more
    if len(parts) > PARTS_AT_MOST:
        raise TooMuchMade(f"An artifact has at most {PARTS_AT_MOST:,} parts.")
    if len(dumps(parts).encode()) > settings.WAKE_MAX_A2A_BYTES:
        raise TooMuchMade(f"An artifact has at most {settings.WAKE_MAX_A2A_BYTES:,} bytes.")
    return parts
