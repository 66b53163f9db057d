"""Each query of a figure stops at its limit, in the order of an index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEvent, LogEntry
from tests.types import MakeDelivery
from wake.models import Callback, Delivery, FailingTarget, Response
from wake.server.metrics import figures

LARGE = {
    model._meta.db_table
    for model in (AuditEvent, Callback, Delivery, FailingTarget, LogEntry, Response)
}
# These read as many rows as the table has.
WITHOUT_A_LIMIT = {"Sort", "Hash", "Seq Scan", "Bitmap Heap Scan"}
# Reads the newest events, whose numbers are in a range of figures.MAX_COUNT.
IN_A_RANGE = '"accounts_auditevent"."id" >'

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's plans"),
]


def test_every_figure_is_read_from_an_index_up_to_its_limit(make_delivery: MakeDelivery) -> None:
    make_delivery()
    with CaptureQueriesContext(connection) as captured:
        figures.read_all()
    asked = [query["sql"] for query in captured if any(each in query["sql"] for each in LARGE)]

    plans = {sql: list(nodes(sql)) for sql in asked}

    assert len(plans) >= 8
    for sql, plan in plans.items():
        bad = [node for node in plan if node["Node Type"] in WITHOUT_A_LIMIT]
        assert not bad, (sql, bad)
        is_limited = any(node["Node Type"] == "Limit" for node in plan)
        assert is_limited or IN_A_RANGE in sql, sql
    counts = [sql for sql in asked if "COUNT(" in sql and IN_A_RANGE not in sql]
    assert len(counts) == 4
    assert all(f"LIMIT {figures.MAX_COUNT}" in sql for sql in counts)


def nodes(sql: str) -> Iterator[dict[str, Any]]:
    """Yields the nodes of the plan. Without sequential scans, because for a table that is only
    small in this test, the planner prefers them."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
        [[[found]]] = cursor.fetchall()
    waiting = [found["Plan"]]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.get("Plans", [])
