"""Does the durable work of a delivery, a poll and a sweep in prepared statements on one connection.
No server can do less."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
from psycopg.types.json import Jsonb

from bench.tools import processes
from bench.tools.servers import DATABASE

DETAILS = '{"url": "https://example.com/report", "word_count": 3200}'
ANSWER = (
    "SELECT d.id, d.expires_at, d.status, d.activity_at, r.feedback, r.edited_json, r.responded_at"
    " FROM wake_delivery d LEFT JOIN wake_response r ON r.delivery_id = d.id"
)


@dataclass(frozen=True)
class DurableWork:
    """Reads and writes the same rows as the servers. `agent` delivers and polls, `reader`
    sweeps."""

    agent: uuid.UUID
    reader: uuid.UUID
    delivery: str
    since: str

    def deliver(self, times: int) -> float:
        return self._cpu(self._deliver, times)

    def poll(self, times: int) -> float:
        return self._cpu(self._poll, times)

    def sweep(self, times: int) -> float:
        return self._cpu(self._sweep, times)

    def _cpu(self, work: Callable[[psycopg.Connection], None], times: int) -> float:
        """Returns the CPU seconds of PostgreSQL for one call."""
        with psycopg.connect(DATABASE, prepare_threshold=0) as connection:
            for _ in range(20):
                work(connection)
            before = processes.cpu_of(connection.info.backend_pid)
            for _ in range(times):
                work(connection)
            return (processes.cpu_of(connection.info.backend_pid) - before) / times

    def _deliver(self, connection: psycopg.Connection) -> None:
        delivery = uuid.uuid4()
        connection.execute(
            "UPDATE accounts_agent SET activity_us = activity_us + 1 WHERE id = %s", [self.agent]
        )
        connection.execute(
            "UPDATE accounts_apikey SET quota_us = quota_us + 1 WHERE agent_id = %s", [self.agent]
        )
        connection.execute(
            "INSERT INTO wake_delivery (id, team_id, agent_id, key_hint, lane, claimed_agent_id,"
            " provider, type, headline, summary, details_json, callback_webhook, timeout_seconds,"
            " assumption, on_timeout, thread, extensions, content_hash, idempotency_hash,"
            " created_at, expires_at, activity_at, status, acknowledged_by)"
            " VALUES (%s, 1, %s, 'wk_live_bench', 'live', 'bench', 'claude', 'output',"
            " 'Market report ready for your review', 'Analysed the ten largest competitors in the"
            " space.', %s, '', 3600, '', '', '', '{}', %s, '', clock_timestamp(),"
            " clock_timestamp(), clock_timestamp(), 'pending', '')",
            [delivery, self.agent, DETAILS, "0" * 64],
        )
        connection.execute(
            "INSERT INTO accounts_auditevent (at, team_id, event, actor_kind, actor_id, actor_name,"
            " object_kind, object_id, object_name, address, detail) VALUES (clock_timestamp(), 1,"
            " 'delivery.received', 'agent', %s, 'bench', 'delivery', %s, '', '127.0.0.1', %s)",
            [str(self.agent), str(delivery), Jsonb({"type": "output", "content_hash": "0" * 64})],
        )
        connection.commit()

    def _poll(self, connection: psycopg.Connection) -> None:
        where = " WHERE d.id = %s AND d.agent_id = %s"
        connection.execute(ANSWER + where, [self.delivery, self.agent]).fetchall()
        connection.commit()

    def _sweep(self, connection: psycopg.Connection) -> None:
        connection.execute(
            ANSWER + " WHERE d.agent_id = %s AND d.lane = 'live' AND d.activity_at > %s"
            " ORDER BY d.activity_at LIMIT 51",
            [self.reader, self.since],
        ).fetchall()
        connection.commit()
