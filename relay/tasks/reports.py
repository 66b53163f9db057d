"""Stores the reports of connectors about their leased runs: their start, their progress and their
results."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import transaction

from accounts.audit import agent_actor, record
from relay.models import Card, Message, Run, Task
from relay.protocol.dialects import Json
from relay.protocol.fields import Fields
from relay.runs import queue as run_queue
from relay.runs.queue import LeaseLost
from relay.runs.results import HIGHEST_NUMBER, RunResult, failed, read_artifact, read_result
from relay.tasks import artifacts, room, transitions
from relay.tasks.artifacts import Prepared, ResultTooLarge

State = Task.State

# A task with this many messages ignores the text of further progress reports. This limit is half of
# room.MAX_MESSAGES; the other half is for callers, people and results.
WORDS_WITHIN = 500
# A task with this many events refuses further pieces of artifacts, because each piece is also
# pushed.
PIECES_WITHIN = 2_000


@transaction.atomic
def begin(run: Run, lease: uuid.UUID, *, at: datetime) -> None:
    """Records that the command was started, and sets the task to working; raises LeaseLost."""
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
    """Stores the progress `{n, text?, artifact?}` of a run: a message to the caller, or a piece of
    an artifact. `n` counts up within a run, and a repeated report changes nothing. Messages beyond
    the limit are ignored. Artifacts beyond the limit are refused, and so are all pieces after a
    refused one. Returns whether something was stored; raises LeaseLost, InvalidParams,
    ResultTooLarge."""
    progress = Fields(report, "progress")
    number, text = progress.number("n", low=1, high=HIGHEST_NUMBER) or 0, progress.text("text")
    given = [progress.inner("artifact")] if progress.get("artifact") is not None else []
    artifact = artifacts.prepare(run.task_id, list(map(read_artifact, given)), at=at)
    task = transitions.lock(run.task_id)
    run = run_queue.leased_run(run, lease)
    if task.is_terminal or 0 < number <= run.progress:
        artifact.discard()
        return False
    run.progress = number or run.progress
    run.save(update_fields=["progress"])
    if given and number and run.refused_from is not None:
        raise ResultTooLarge("An earlier piece was refused: this one comes with the result.")
    if given and task.generation >= PIECES_WITHIN:
        raise ResultTooLarge(f"A task has at most {PIECES_WITHIN:,} events before its result.")
    has_message = bool(text) and task.messages.count() < WORDS_WITHIN
    artifacts.store(task, artifact, at=at)
    if has_message:
        message = transitions.add_message(task, Message.Source.AGENT, [{"text": text}], at=at)
        transitions.transition(task.pk, State.WORKING, message=message, at=at)
    return bool(given) or has_message


def record_refused(run: Run, lease: uuid.UUID, number: int) -> None:
    """Records that the piece of an artifact with this number was refused, under the current lease
    of its run. Without this record, the numbers of later reports would make the refused piece look
    stored."""
    rows = Run.objects.on_lease().filter(pk=run.pk, lease=lease, progress__lt=number)
    rows.filter(refused_from__isnull=True).update(refused_from=number)


def finish(run: Run, lease: uuid.UUID, result: Json, *, at: datetime) -> bool:
    """Stores one result of a run, under its current lease only (results.read_result describes its
    form); returns whether it was stored. A result for a task that has ended meanwhile is dropped,
    and the audit records it."""
    try:
        return _finish(run, lease, read_result(result), at=at)
    except LeaseLost:
        return False


@transaction.atomic
def _finish(run: Run, lease: uuid.UUID, outcome: RunResult, *, at: datetime) -> bool:
    # The result repeats the pieces that were sent while the command worked.
    missing = [one for one in outcome.artifacts if not 0 < one.number <= run.stored_up_to]
    prepared = artifacts.prepare(run.task_id, missing, at=at)
    task = transitions.lock(run.task_id)
    run = run_queue.leased_run(run, lease)
    run.state, run.finished_at = Run.State.DONE, at
    run.save(update_fields=["state", "finished_at"])
    by = agent_actor(task.agent)
    if task.is_terminal:
        prepared.discard()
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
        message = _store(task, outcome, prepared, seen=run.stored_up_to, at=at)
    except ResultTooLarge as reason:
        prepared.discard()
        outcome = failed(f"The agent's answer cannot be stored: {reason}")
        message = _add_message(task, outcome, at=at)
    state = _next_state(task, outcome.state, at=at)
    if outcome.is_direct and state == outcome.state:
        Task.objects.filter(pk=task.pk).update(is_direct=True)
    transitions.transition(task.pk, state, message=message, by=by, at=at)
    return True


@transaction.atomic
def _store(
    task: Task, outcome: RunResult, prepared: Prepared, *, seen: int, at: datetime
) -> Message | None:
    """Stores a whole result or nothing; returns its message. Raises ResultTooLarge."""
    artifacts.store(task, prepared, seen=seen, at=at)
    if not outcome.parts:
        return None
    if outcome.state in Task.INTERRUPTED:
        _check_messages(task)
    message = _add_message(task, outcome, at=at)
    artifacts.check_room(task)
    return message


def _check_messages(task: Task) -> None:
    """Raises ResultTooLarge if the task has no room for the answer to a question. A result that
    ends the task needs no such room."""
    try:
        room.check_messages(task)
    except room.TaskIsFull as reason:
        raise ResultTooLarge(str(reason)) from reason


def _add_message(task: Task, outcome: RunResult, *, at: datetime) -> Message:
    source, metadata = Message.Source.AGENT, outcome.metadata
    return transitions.add_message(task, source, outcome.parts, metadata=metadata, at=at)


def _next_state(task: Task, ended: State, *, at: datetime) -> State:
    """Returns the state of a task whose run has ended. If the caller wrote meanwhile, the next run
    is waiting, and the task goes on. A question to people is asked anyway: the people, and the run
    that follows their answer, see the caller's message."""
    if ended in {State.FAILED, State.REJECTED}:
        return ended
    if ended == State.INPUT_REQUIRED:
        policy = Card.objects.values_list("reply_policy", flat=True).get(agent=task.agent)
        if policy == Card.ReplyPolicy.OWNER:
            run_queue.drop_queued(task, at=at)
    is_queued = Run.objects.filter(task=task, state=Run.State.QUEUED).exists()
    return State.SUBMITTED if is_queued else ended
