"""Verification finds every change to the events, the entries, the tiles and the size of the log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.audit import SYSTEM, record
from accounts.audit.chain import NO_TEAM
from accounts.log import merkle, signed_tree, sweep, tree
from accounts.log.entries import entry_bytes, of_event
from accounts.log.verification import Broken, verify, verify_team
from accounts.models import AuditCheckpoint, AuditEvent, LogEntry, LogTile, LogTree, Team
from tests.accounts.log import rfc9162

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
Tamper = Callable[..., None]
# Copies an event, with another id and another team.
COPY = (
    "INSERT INTO accounts_auditevent (id, at, team_id, event, actor_kind, actor_id, actor_name,"
    " object_kind, object_id, object_name, address, detail) SELECT %s, at, %s, event, actor_kind,"
    " actor_id, actor_name, object_kind, object_id, object_name, address, detail"
    " FROM accounts_auditevent WHERE id = %s"
)


def _event(index: int) -> int:
    event_id = LogEntry.objects.get(pk=index).event_id
    assert event_id is not None
    return event_id


def _broken(verification: Callable[[], Any] = verify) -> str:
    with pytest.raises(Broken) as broken:
        verification()
    return str(broken.value)


def _remember() -> None:
    verified = verify()
    signed_tree.remember_verification(verified.size, verified.root)


def _light(team: Team, *, times: int) -> None:
    for _ in range(times):
        record("lamp.lit", by=SYSTEM, of=team, team=team)
    sweep.append_new(at=AT)


def test_the_tree_has_every_entry_in_order(logged: int) -> None:
    entries = list(LogEntry.objects.order_by("index"))

    assert [entry.index for entry in entries] == list(range(9))
    assert [entry.number for entry in entries] == [*range(1, 8), 1, 2]
    stored = LogTree.objects.get()
    assert bytes(stored.root) == rfc9162.mth([entry_bytes(entry) for entry in entries])
    assert (tree.size(), tree.root(9)) == (9, bytes(stored.root))
    assert verify().head == signed_tree.head(stored)
    assert verify_team(logged) == range(1, 8)
    assert verify_team(NO_TEAM) == range(1, 3)


def test_equal_events_have_different_leaves(logged: int) -> None:
    first, second = LogEntry.objects.filter(team_id=NO_TEAM)

    assert bytes(first.salt) != bytes(second.salt)
    assert len(bytes(first.salt)) == 16


def test_each_event_gets_exactly_one_entry(logged: int, team: Team) -> None:
    assert sweep.append_new(at=AT) == 0
    record("lamp.lit", by=SYSTEM, of=team, team=team)
    assert verify().waiting == 1

    assert sweep.append_new(at=AT) == 1

    assert (verify().size, verify().waiting) == (10, 0)


def test_many_events_are_logged_in_several_steps(logged: int, team: Team) -> None:
    for _ in range(43):
        record("lamp.lit", by=SYSTEM, of=team, team=team)

    assert sweep.append_new(at=AT, at_once=10) == 43
    assert verify().size == 52


def test_a_sweep_that_runs_out_of_time_leaves_the_others_to_the_next(
    logged: int, team: Team
) -> None:
    record("lamp.lit", by=SYSTEM, of=team, team=team)

    assert sweep.append_new(at=AT, seconds=0) == 0
    assert sweep.append_new(at=AT) == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("at", "2026-11-03 09:30:02.000001+00:00"),
        ("event", "lamp.put_out"),
        ("actor_kind", "system"),
        ("actor_id", "0"),
        ("actor_name", "bob"),
        ("object_kind", "lamp"),
        ("object_id", "0"),
        ("object_name", "Orchard"),
        ("address", "192.0.2.8"),
        ("detail", '{"number": 9}'),
    ],
)
def test_a_changed_event_is_found(logged: int, tamper: Tamper, column: str, value: str) -> None:
    changed = _event(2)

    statement = f"UPDATE accounts_auditevent SET {column} = %s WHERE id = %s"  # noqa: S608 - ours
    tamper(statement, value, changed)

    assert _broken() == f"Entry 2: event {changed} does not match its entry."
    assert _broken(lambda: verify_team(logged)) == _broken()


def test_a_removed_event_is_found(logged: int, tamper: Tamper) -> None:
    removed = _event(4)

    tamper("DELETE FROM accounts_auditevent WHERE id = %s", removed)

    assert _broken() == f"Entry 4: event {removed} was removed."


def test_an_event_that_was_given_to_another_team_is_found(logged: int, tamper: Tamper) -> None:
    moved = _event(4)

    tamper("UPDATE accounts_auditevent SET team_id = NULL WHERE id = %s", moved)

    assert _broken() == f"Entry 4: event {moved} was given to another team."


def test_an_event_that_was_removed_with_its_entry_is_found(logged: int, tamper: Tamper) -> None:
    removed = _event(4)

    tamper("DELETE FROM accounts_auditevent WHERE id = %s", removed)
    tamper("DELETE FROM accounts_logentry WHERE event_id = %s", removed)

    assert _broken() == "Entry 4 was removed."
    assert _broken(lambda: verify_team(logged)) == "Number 5: its entry was removed."


def test_a_removed_end_is_found(logged: int, tamper: Tamper) -> None:
    for index in (7, 8):
        removed = _event(index)
        tamper("DELETE FROM accounts_auditevent WHERE id = %s", removed)
        tamper("DELETE FROM accounts_logentry WHERE event_id = %s", removed)

    assert _broken() == "Entry 7 was removed, and all up to 8."
    assert _broken(lambda: verify_team(NO_TEAM)) == (
        "Number 1: its entry was removed, and all up to 2."
    )


def test_a_removed_leaf_is_found(logged: int, tamper: Tamper) -> None:
    """All later leaves move up by one, so that no index is missing."""
    removed = _event(4)
    tamper("DELETE FROM accounts_auditevent WHERE id = %s", removed)
    tamper("DELETE FROM accounts_logentry WHERE event_id = %s", removed)
    for index in range(5, 9):
        tamper('UPDATE accounts_logentry SET "index" = %s WHERE "index" = %s', index - 1, index)
    tile = LogTile.objects.get()
    leaves = bytes(tile.hashes)
    LogTile.objects.update(hashes=leaves[: 4 * 32] + leaves[5 * 32 :])
    LogTree.objects.update(size=8, root=tree.root(8))

    assert _broken().startswith("Entry 4: number 6 of team")
    tamper(
        "UPDATE accounts_logentry SET number = number - 1 WHERE team_id = %s AND number > 5", logged
    )
    assert _broken() == "Entry 4: its leaf hash is another one."


def test_an_inserted_event_is_found(logged: int, tamper: Tamper) -> None:
    tamper(COPY, -5, logged, _event(2))
    sweep.append_new(at=AT)

    assert _broken() == "Event -5 has no entry: it was inserted later, or its entry was removed."


@pytest.mark.parametrize("inserted", [-5, 1_000_000])
def test_an_event_of_an_unknown_team_is_found(logged: int, tamper: Tamper, inserted: int) -> None:
    tamper(COPY, inserted, NO_TEAM, _event(2))

    for _ in range(2):  # before and after a sweep has logged the event
        assert _broken() == (
            f"Event {inserted} names team 0, which never was one: it was inserted or changed by "
            "hand."
        )
        sweep.append_new(at=AT)


def test_swapped_events_are_found(logged: int, tamper: Tamper) -> None:
    second, third = _event(2), _event(3)

    for event, other in ((second, -1), (third, second), (-1, third)):
        tamper("UPDATE accounts_logentry SET event_id = %s WHERE event_id = %s", other, event)

    assert _broken() == f"Entry 2: event {third} does not match its entry."


@pytest.mark.parametrize("column", ["salt", "number"])
def test_a_changed_entry_is_found(logged: int, tamper: Tamper, column: str) -> None:
    value = b"\1" * 16 if column == "salt" else 99
    statement = f'UPDATE accounts_logentry SET {column} = %s WHERE "index" = 3'  # noqa: S608 - ours
    tamper(statement, value)

    assert _broken() == "Entry 3: its leaf hash is another one."


def test_an_entry_that_was_written_again_with_its_event_is_found(
    logged: int, tamper: Tamper
) -> None:
    _rewrite(3, tamper)

    assert _broken() == "Tile 0/0 does not match the hashes below it."
    assert _broken(lambda: verify_team(logged)) == "Entry 3: tile 0/0 has another hash."


def _rewrite(index: int, tamper: Tamper) -> bytes:
    """Replaces an event and its entry, and returns the new leaf hash."""
    entry = LogEntry.objects.get(pk=index)
    tamper("UPDATE accounts_auditevent SET actor_name = 'mallory' WHERE id = %s", entry.event_id)
    event = AuditEvent.objects.get(pk=_event(index))
    entry.sha256 = of_event(event).sha256
    leaf = merkle.leaf_hash(entry_bytes(entry))
    tamper(
        'UPDATE accounts_logentry SET sha256 = %s, hash = %s WHERE "index" = %s',
        entry.sha256,
        leaf,
        index,
    )
    return leaf


def _rewrite_with_tile(index: int, tamper: Tamper) -> None:
    leaf = _rewrite(index, tamper)
    leaves = bytes(LogTile.objects.get(level=0, index=0).hashes)
    LogTile.objects.filter(level=0, index=0).update(
        hashes=leaves[: index * 32] + leaf + leaves[(index + 1) * 32 :]
    )


def test_an_entry_that_was_written_again_with_its_tile_is_found(
    logged: int, tamper: Tamper
) -> None:
    _rewrite_with_tile(3, tamper)

    assert _broken() == "Size 9: the log ended here with another root."


def test_a_second_tree_with_other_entries_is_found(logged: int, tamper: Tamper) -> None:
    _rewrite_with_tile(3, tamper)
    LogTree.objects.update(root=tree.root(9))

    assert _broken() == "Wake did not sign the size and root of the log."


def test_a_sweep_does_not_sign_a_tree_that_was_changed(
    logged: int, team: Team, tamper: Tamper, caplog: pytest.LogCaptureFixture
) -> None:
    _rewrite_with_tile(3, tamper)
    LogTree.objects.update(root=tree.root(9))

    _light(team, times=1)

    assert "The size or the root of the log was changed" in caplog.text
    assert _broken() == "Wake did not sign the size and root of the log."


def test_a_sweep_does_not_sign_over_a_changed_tile(logged: int, team: Team, tamper: Tamper) -> None:
    _rewrite_with_tile(3, tamper)

    _light(team, times=1)

    assert _broken() == "Wake did not sign the size and root of the log."


def test_an_entry_after_the_end_is_found(logged: int, team: Team) -> None:
    record("lamp.lit", by=SYSTEM, of=team, team=team)
    event = AuditEvent.objects.latest("pk")
    LogEntry.objects.create(
        index=9,
        team_id=logged,
        number=8,
        kind="event",
        event_id=event.pk,
        salt=b"",
        sha256=b"",
        hash=b"",
        appended_at=AT,
    )

    assert _broken() == (
        f"Entry 9 (of event {event.pk}, number 8, team {logged}) stands after the end of the log."
    )


def test_the_next_verification_reads_new_entries_only(
    logged: int, team: Team, tamper: Tamper
) -> None:
    _light(team, times=600)
    _remember()
    changed = _event(3)
    tamper("UPDATE accounts_auditevent SET actor_name = 'mallory' WHERE id = %s", changed)
    _light(team, times=600)

    assert verify().start == 609
    with pytest.raises(Broken, match=f"Entry 3: event {changed} does not match"):
        verify(from_start=True)
    later = _event(700)
    tamper("UPDATE accounts_auditevent SET actor_name = 'mallory' WHERE id = %s", later)
    assert _broken() == f"Entry 700: event {later} does not match its entry."


def test_a_log_that_was_shortened_or_replaced_since_is_found(
    logged: int, team: Team, tamper: Tamper
) -> None:
    before = LogTree.objects.get()
    _light(team, times=3)
    _remember()

    _rewrite_with_tile(3, tamper)
    assert _broken() == "Size 12: the log had another root when it was verified."
    LogTree.objects.update(size=9, root=before.root, signature=before.signature)
    assert _broken() == "The log has 9 entries, and had 12 when it was verified."
    LogTree.objects.update(verified_size=3)
    assert _broken() == "The record of the last verification was changed by hand. Use --all."


@pytest.mark.parametrize("at_once", [256, 512, 2048])
def test_tiles_of_several_levels_are_verified(logged: int, team: Team, at_once: int) -> None:
    _light(team, times=900)
    assert verify(at_once=at_once).size == 909
    _remember()
    _light(team, times=500)
    assert verify(at_once=at_once).size == 1409

    higher = LogTile.objects.get(level=1, index=0)
    hashes = bytes(higher.hashes)
    LogTile.objects.filter(pk=higher.pk).update(hashes=hashes[:-32] + b"\1" * 32)

    assert _broken(lambda: verify(at_once=at_once)) == (
        "Tile 1/0 does not match the hashes below it."
    )


def test_a_wrong_number_is_found_in_a_later_range(logged: int, team: Team, tamper: Tamper) -> None:
    _light(team, times=600)
    entry = LogEntry.objects.get(pk=600)
    entry.number = 5_000
    leaf = merkle.leaf_hash(entry_bytes(entry))
    tamper('UPDATE accounts_logentry SET number = 5000, hash = %s WHERE "index" = 600', leaf)
    tile, place = LogTile.objects.get(level=0, index=600 // 256), 600 % 256 * 32
    hashes = bytes(tile.hashes)
    LogTile.objects.filter(pk=tile.pk).update(hashes=hashes[:place] + leaf + hashes[place + 32 :])

    assert _broken(lambda: verify(at_once=256)) == (
        f"Entry 600: number 5000 of team {logged} does not follow the one before it."
    )


def test_a_forgotten_event_is_found_in_a_later_range(
    logged: int, team: Team, tamper: Tamper
) -> None:
    _light(team, times=600)
    inserted = AuditEvent.objects.latest("pk").pk + 1
    tamper(COPY, inserted, logged, _event(2))
    AuditCheckpoint.objects.update(event_id=inserted)

    assert _broken(lambda: verify(at_once=256)) == (
        f"Event {inserted} has no entry: it was inserted later, or its entry was removed."
    )


def test_the_waiting_events_of_all_ranges_are_counted(logged: int, team: Team) -> None:
    for _ in range(600):
        record("lamp.lit", by=SYSTEM, of=team, team=team)

    assert verify(at_once=256).waiting == 600
