"""Stores a new task in one statement of PostgreSQL: the agent's lock, the count of its queue, the
rows of the task, and the notification of its connectors.

Step by step, as sending.send() does it otherwise, these are seven round trips
(docs/decisions/0042-a-new-task-is-stored-at-once.md).
"""

from __future__ import annotations

from functools import cache

from django.db import connection

from accounts.agents.topics import topic_of
from accounts.models import AuditEvent
from database.compiled_queries import insert_from, parameters_of
from database.notifications import CHANNEL
from relay.models import Card, Context, Event, Message, Run, Task
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


def store(
    card: Card, task: Task, message: Message, run: Run, event: Event, audit_event: AuditEvent
) -> bool:
    """Inserts the rows and the task's context, and wakes the connectors in other processes. Returns
    False, without an insert, if the agent's queue is nearly full, if the card, its agent or its
    address are not as they were read, or if the caller's key has ended."""
    agent, at = card.agent, task.created_at
    most = max(0, queue.QUEUE_AT_MOST - WAITING_AT_MOST)
    parameters = [
        *(at, task.caller_id, at, agent.pk, agent.agent_id, agent.team.slug, card.updated_at),
        *(agent.pk, most, most),
        *parameters_of(task.context, SHARED),
        *parameters_of(task, OF_THE_TASK),
        *parameters_of(message, OF_THE_MESSAGE),
        *parameters_of(run, OF_THE_RUN),
        *parameters_of(event, OF_THE_EVENT),
        *parameters_of(audit_event, SHARED),
        topic_of(agent.pk),
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
    """Returns it on one line: psycopg does not keep what it parsed of long statements."""
    statement = f"""
        WITH agent AS (
            SELECT agent.id AS agent_id, agent.team_id, %s::timestamptz AS at
              FROM accounts_agent AS agent
              JOIN accounts_team AS team ON team.id = agent.team_id
              JOIN relay_card AS card ON card.agent_id = agent.id
              JOIN relay_callerkey AS caller
                ON caller.id = %s AND caller.revoked_at IS NULL
               AND (caller.expires_at IS NULL OR caller.expires_at > %s)
             WHERE agent.id = %s AND agent.agent_id = %s AND agent.archived_at IS NULL
               AND team.slug = %s AND card.enabled AND card.updated_at = %s
               FOR NO KEY UPDATE OF agent
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
        SELECT id, pg_notify('{CHANNEL}', %s) FROM new_message
    """  # noqa: S608 - our own names
    return " ".join(statement.split())
