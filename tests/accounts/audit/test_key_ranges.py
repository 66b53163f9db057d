"""A table is read in ranges of its primary key."""

from __future__ import annotations

import pytest
from django.db import connection

from accounts.audit import SYSTEM, record
from accounts.audit.key_ranges import KeyRange, key_ranges
from accounts.log import sweep
from accounts.models import AuditEvent, Team


@pytest.mark.parametrize("at_once", [1, 2, 3, 6, 7, 8])
def test_each_row_is_in_one_range(team: Team, at_once: int) -> None:
    for _ in range(7):
        record("lamp.lit", by=SYSTEM, of=team, team=team)
    last = AuditEvent.objects.latest("pk")
    last.pk += 1_000_000  # a gap, as transactions leave it that were rolled back
    last.save(force_insert=True)
    events = AuditEvent.objects.order_by("pk")

    ranges = [list(events.filter(each.of("pk"))) for each in key_ranges(events, at_once=at_once)]

    assert [event for each in ranges for event in each] == list(events)
    assert all(len(each) == at_once for each in ranges[:-1])
    assert len(ranges[-1]) < at_once


def test_an_empty_table_has_one_range(db: None) -> None:
    assert list(key_ranges(AuditEvent.objects.all(), at_once=2)) == [(None, None)]


def test_a_range_is_split(team: Team) -> None:
    for _ in range(7):
        record("lamp.lit", by=SYSTEM, of=team, team=team)
    first, *_, last = ids = list(AuditEvent.objects.order_by("pk").values_list("pk", flat=True))

    ranges = key_ranges(AuditEvent.objects.all(), at_once=2, within=KeyRange(first, last - 1))

    assert list(ranges) == [(first, ids[2]), (ids[2], ids[4]), (ids[4], last - 1)]


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no other joins.")
def test_a_sweep_reads_no_earlier_entries(db: None) -> None:
    """PostgreSQL keeps the plan of a prepared statement. This plan was a join that read all entries
    of the log for each thousand new events."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_nestloop = off; SET LOCAL enable_bitmapscan = off")

    plan = sweep.without_entry(KeyRange(after=57)).explain()

    assert plan.count("(event_id > ") == 2  # entries, and those of version 0.2
