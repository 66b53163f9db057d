"""Stores a new task in one statement of PostgreSQL: the agent's lock, the count of its queue, and
the rows of the task.

Step by step, as sending.send() does it otherwise, these are six round trips
(docs/decisions/0042-a-new-task-is-stored-at-once.md).
"""

from __future__ import annotations

from functools import cache

from django.db import connection

from accounts.models import AuditEvent
from database.compiled_queries import insert_from, parameters_of
from relay.models import Context, Event, Message, Run, Task
from relay.runs import queue

# The count is as old as the statement, which may have waited for the lock. So this way is for
# queues with room for all that may wait for it at once: PostgreSQL takes 100 connections, unless
# more are configured.
WAITING_AT_MOST = 100
# What these rows share, and what they do not have yet. Every other column is a parameter. psycopg
# parses a statement with more than 50 of them each time that it is run.
SHARED = {
    "agent_id": "room.agent_id",
    "team_id": "room.team_id",
    "at": "room.at",
    "created_at": "room.at",
    "status_at": "room.at",
}
OF_THE_TASK = {
    **SHARED,
    "context_id": "new_context.id",
    "status_message_id": "NULL",
    "terminal_at": "NULL",
    "erased_at": "NULL",
    "idempotency_key": "NULL",
    "idempotency_hash": "''",
    "source_task": "''",
    "source_generation": "0",
    "network": "''",
    "is_direct": "false",
}
OF_THE_MESSAGE = {**SHARED, "task_id": "new_task.id", "context_id": "new_task.context_id"}
OF_THE_RUN = {
    **SHARED,
    "task_id": "new_message.task_id",
    "message_id": "new_message.id",
    "decision_json": "''",
    "state": f"'{Run.State.QUEUED}'",
    "attempts": "0",
    "progress": "0",
    "lease": "NULL",
    "leased_until": "NULL",
    "connector_id": "NULL",
    "cancel_asked_at": "NULL",
    "cancel_told_at": "NULL",
    "started_at": "NULL",
    "finished_at": "NULL",
}
OF_THE_EVENT = {
    **SHARED,
    "task_id": "new_task.id",
    "message_id": "NULL",
    "artifact_id": "NULL",
    "first_part": "0",
    "part_count": "NULL",
    "is_last_piece": "false",
    "push_due_at": "NULL",
}


def store(task: Task, message: Message, run: Run, event: Event, audit_event: AuditEvent) -> bool:
    """Inserts the rows and the task's context. Returns False, without an insert, if the
    agent's queue is nearly full, or if the agent does not exist any more."""
    most = max(0, queue.QUEUE_AT_MOST - WAITING_AT_MOST)
    parameters = [
        *(task.created_at, task.agent_id),
        *(task.agent_id, most, most),
        *parameters_of(task.context, SHARED),
        *parameters_of(task, OF_THE_TASK),
        *parameters_of(message, OF_THE_MESSAGE),
        *parameters_of(run, OF_THE_RUN),
        *parameters_of(event, OF_THE_EVENT),
        *parameters_of(audit_event, SHARED),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_statement(), parameters)
        row = cursor.fetchone()
    if row is None:
        return False
    message.pk = run.message_id = row[0]
    return True


@cache
def _statement() -> str:
    return f"""
        WITH agent AS (
            SELECT id AS agent_id, team_id, %s::timestamptz AS at
              FROM accounts_agent WHERE id = %s FOR NO KEY UPDATE
        ), room AS (
            SELECT * FROM agent
             WHERE (SELECT COUNT(*) FROM (
                       SELECT FROM relay_dispatch
                        WHERE agent_id = %s AND state = 'queued' LIMIT %s) AS queued) < %s
        ), new_context AS (
            {insert_from("room", Context, SHARED)} RETURNING id
        ), new_task AS (
            {insert_from("room, new_context", Task, OF_THE_TASK)} RETURNING id, context_id
        ), new_message AS (
            {insert_from("room, new_task", Message, OF_THE_MESSAGE)} RETURNING id, task_id
        ), new_run AS (
            {insert_from("room, new_message", Run, OF_THE_RUN)}
        ), new_event AS (
            {insert_from("room, new_task", Event, OF_THE_EVENT)}
        ), recorded AS (
            {insert_from("room", AuditEvent, SHARED)}
        )
        SELECT id FROM new_message
    """  # noqa: S608 - our own names
