"""Computes the tiles, the size and the root of the log again from its entries, and signs them."""

from __future__ import annotations

from django.db import transaction

from accounts.audit.key_ranges import key_ranges
from accounts.log import signed_tree, tiles, tree
from accounts.models import AuditCheckpoint, LogEntry, LogTeam, LogTile

AT_ONCE = tiles.WIDTH**2
TILES_AT_ONCE = 1024  # 8 MB


class Gap(Exception):
    """An entry of the log is missing."""


@transaction.atomic
def rebuild(*, at_once: int = AT_ONCE, tiles_at_once: int = TILES_AT_ONCE) -> None:
    """Computes everything again that follows from the entries. A statement reads at most `at_once`
    entries, or removes at most `tiles_at_once` tiles. The caller then verifies the entries, in the
    same transaction. Raises Gap."""
    AuditCheckpoint.objects.get_or_create(pk=1)
    AuditCheckpoint.objects.select_for_update().get(pk=1)  # waits for a running sweep
    stored = signed_tree.to_extend()
    for ids in key_ranges(LogTile.objects.all(), at_once=tiles_at_once):
        LogTile.objects.filter(ids.of("pk")).delete()
    size, numbers = 0, dict[int, int]()
    rows = LogEntry.objects.only("index", "hash", "team_id", "number").order_by("index")
    while batch := list(rows.filter(index__gte=size)[:at_once]):
        if [entry.index for entry in batch] != list(range(size, size + len(batch))):
            raise Gap(Gap.__doc__)
        tiles.append(size, [bytes(entry.hash) for entry in batch])
        for entry in batch:
            numbers[entry.team_id] = max(entry.number, numbers.get(entry.team_id, 0))
        size += len(batch)
    _store_numbers(numbers)
    stored.size, stored.root = size, tree.root(size)
    signed_tree.sign_again(stored)


def _store_numbers(numbers: dict[int, int]) -> None:
    """Stores the last number of each team. A team without an entry keeps the number of its
    chain."""
    LogTeam.objects.bulk_create(
        [LogTeam(team_id=team_id, number=number) for team_id, number in numbers.items()],
        update_conflicts=True,
        unique_fields=["team_id"],
        update_fields=["number"],
    )
