"""Stores a new task in one statement of PostgreSQL: the count of the agent's queue, and the rows of
the task.

Step by step, as sending.send() does it otherwise, these are seven round trips
(docs/decisions/0042-a-new-task-is-stored-at-once.md).
"""

from __future__ import annotations

from functools import cache

from django.db import connection

from accounts.models import AuditEvent
from database.compiled_queries import insert_from, parameters_of
from relay.models import Card, Context, Event, Message, Run, Task
from relay.runs import queue

# What these rows share, and what is the same in each new task. Every other column is a parameter.
# psycopg parses a statement with more than 50 of them each time that it is run.
SHARED = {
    "agent_id": "agent.id",
    "team_id": "agent.team_id",
    "at": "agent.at",
    "created_at": "agent.at",
    "status_at": "agent.at",
}
TASK_COLUMNS = {
    **SHARED,
    "context_id": "new_context.id",
    "state": f"'{Task.State.SUBMITTED}'",
    "generation": "1",
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
MESSAGE_COLUMNS = {
    **SHARED,
    "task_id": "new_task.id",
    "context_id": "new_task.context_id",
    "idempotency_key": "NULL",
    "idempotency_hash": "''",
}
RUN_COLUMNS = {
    **SHARED,
    "id": "gen_random_uuid()",
    "task_id": "new_message.task_id",
    "message_id": "new_message.id",
    "decision_json": "''",
    "state": f"'{Run.State.QUEUED}'",
    "attempts": "0",
    "progress": "0",
    "refused_from": "NULL",
    "lease": "NULL",
    "leased_until": "NULL",
    "connector_id": "NULL",
    "cancel_asked_at": "NULL",
    "cancel_told_at": "NULL",
    "started_at": "NULL",
    "finished_at": "NULL",
}
AUDIT_COLUMNS = {**SHARED, "detail": "'{}'"}
EVENT_COLUMNS = {
    **SHARED,
    "task_id": "new_task.id",
    "generation": "1",
    "kind": f"'{Event.Kind.STATUS}'",
    "state": f"'{Task.State.SUBMITTED}'",
    "message_id": "NULL",
    "artifact_id": "NULL",
    "first_part": "0",
    "part_count": "NULL",
    "is_last_piece": "false",
    "push_due_at": "NULL",
}


def store(card: Card, task: Task, message: Message, received: AuditEvent) -> bool:
    """Inserts these rows with the task's context, run and first event. Returns False, without an
    insert, if the agent's queue is nearly full, if the card, its agent or its address are not as
    they were read, or if the caller's key has ended."""
    agent, at = card.agent, task.created_at
    most = queue.exact_count_from()
    parameters = [
        *(at, task.caller_id, at, agent.pk, agent.agent_id, agent.team.slug, card.updated_at),
        *(agent.pk, most, most),
        *parameters_of(task.context, SHARED),
        *parameters_of(task, TASK_COLUMNS),
        *parameters_of(message, MESSAGE_COLUMNS),
        *parameters_of(received, AUDIT_COLUMNS),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_statement(), parameters)
        row = cursor.fetchone()
    if row is None:
        return False
    (message.pk,) = row
    return True


@cache
def _statement() -> str:
    """Locks the agent only against an exact count (queue.has_room()): messages do not wait for each
    other, nor for the commit of anything else that the agent does. On one line, because psycopg
    does not cache the parsing of statements above 4,096 characters."""
    statement = f"""
        WITH agent AS (
            SELECT agent.id, agent.team_id, %s::timestamptz AS at
              FROM accounts_agent AS agent
              JOIN accounts_team AS team ON team.id = agent.team_id
              JOIN relay_card AS card ON card.agent_id = agent.id
              JOIN relay_callerkey AS caller
                ON caller.id = %s AND caller.revoked_at IS NULL
               AND (caller.expires_at IS NULL OR caller.expires_at > %s)
             WHERE agent.id = %s AND agent.agent_id = %s AND agent.archived_at IS NULL
               AND team.slug = %s AND card.enabled AND card.updated_at = %s
               AND (SELECT COUNT(*) FROM (
                       SELECT FROM relay_dispatch
                        WHERE agent_id = %s AND state = 'queued' LIMIT %s) AS queued) < %s
               FOR KEY SHARE OF agent
        ), new_context AS (
            {insert_from("agent", Context, SHARED)} RETURNING id
        ), new_task AS (
            {insert_from("agent, new_context", Task, TASK_COLUMNS)} RETURNING id, context_id
        ), new_message AS (
            {insert_from("agent, new_task", Message, MESSAGE_COLUMNS)} RETURNING id, task_id
        ), new_run AS (
            {insert_from("agent, new_message", Run, RUN_COLUMNS)}
        ), new_event AS (
            {insert_from("agent, new_task", Event, EVENT_COLUMNS)}
        ), recorded AS (
            {insert_from("agent", AuditEvent, AUDIT_COLUMNS)}
        )
        SELECT id FROM new_message
    """  # noqa: S608 - our own names
    return " ".join(statement.split())
