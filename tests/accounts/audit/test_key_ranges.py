"""No statement of a verification or a repair reads a whole table."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.audit import SYSTEM, record, verification
from accounts.audit.key_ranges import KeyRange, key_ranges
from accounts.log import repair, sweep, tiles
from accounts.log import verification as log_verification
from accounts.models import AuditEntry, AuditEvent, AuditTip, LogTile, Team
from tests.accounts.conftest import AT


@pytest.mark.parametrize("at_once", [1, 2, 3, 6, 7, 8])
def test_each_row_is_in_one_range(team: Team, at_once: int) -> None:
    for _ in range(7):
        record("lamp.lit", by=SYSTEM, of=team, team=team)
    last = AuditEvent.objects.latest("pk")
    last.pk += 1_000_000  # transactions that were rolled back leave such a gap
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
    """PostgreSQL keeps the plan of a prepared statement. With the kept plan, this statement read
    all entries of the log for each thousand new events."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_nestloop = off; SET LOCAL enable_bitmapscan = off")

    plan = sweep.without_entry(KeyRange(after=57)).explain()

    # one for the log's entries, and one for those of version 0.2
    assert plan.count("(event_id > ") == 2


def entries_of(*chains: int) -> None:
    AuditEntry.objects.bulk_create(
        AuditEntry(event_id=number, chain=chain, position=number, hash="", appended_at=AT)
        for number, chain in enumerate(chains)
    )


def test_the_chains_are_found_one_by_one(tamper: Any) -> None:
    """A statement that read all entries of version 0.2 took longer than PostgreSQL allows."""
    entries_of(*(3, 0, 3, 9, 3, 0, 9))
    AuditTip.objects.create(chain=7, position=0, hash="", appended_at=AT)

    with CaptureQueriesContext(connection) as queries:
        assert verification.chains() == [0, 3, 7, 9]

    of_entries = [query["sql"] for query in queries if "accounts_auditseal" in query["sql"]]
    assert len(of_entries) == 4
    assert all("LIMIT 1" in sql and "DISTINCT" not in sql for sql in of_entries)


def test_there_may_be_no_chains(db: None) -> None:
    assert verification.chains() == []


def test_a_repair_removes_few_tiles_with_each_statement(logged: int) -> None:
    tiles.append(9, [bytes(32)] * 700)  # no entry belongs to these hashes
    before = LogTile.objects.count()

    with CaptureQueriesContext(connection) as queries:
        repair.rebuild(tiles_at_once=2)

    removed = [query["sql"] for query in queries if query["sql"].startswith("DELETE")]
    assert (before, len(removed)) == (4, 3)  # the last range is open, and has no tile
    assert all('"accounts_logtile"."id" >' in sql for sql in removed[1:])
    assert '"accounts_logtile"."id" <=' in removed[0]
    assert [(tile.level, tile.index) for tile in LogTile.objects.all()] == [(0, 0)]
    assert log_verification.verify(from_start=True).size == 9
