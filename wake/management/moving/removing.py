"""Removes the rows of a team that has left this server, or that was not opened here.

The audit events and the log stay, because they can only grow. So does the move, which says where
the team is."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from accounts.audit import Actor, record
from accounts.models import Team, TeamMove
from database.clock import database_now
from wake import signals
from wake.management.moving.leaving import MoveRefused
from wake.management.moving.notes import all_notes
from wake.management.moving.reading import without_time_limit
from wake.management.moving.tables import TeamTable, tables_to_remove
from wake.models import Assignment, Delivery

AT_ONCE = 500
State = TeamMove.State


def remove_left(move: TeamMove, *, by: Actor) -> int:
    """Removes the rows of a team that has left; returns how many. Can be stopped and run again.
    Raises MoveRefused."""
    if move.state != State.LEFT or move.removed_at is not None:
        raise MoveRefused(f"{move.name} has not left this server, or was removed before.")
    count = _remove(move)
    move.removed_at = database_now()
    move.save(update_fields=["removed_at"])
    team = Team(pk=move.team_id, slug=move.slug, name=move.name)
    record("team.removed", by=by, of=team, team=team, server=move.server, move=str(move.pk))
    return count


def drop(move: TeamMove, *, by: Actor) -> int:
    """Removes the rows of a team that was stored here and not opened. Raises MoveRefused."""
    if move.state != State.ARRIVED:
        raise MoveRefused(f"{move.name} does not wait here to be opened.")
    count = _remove(move)
    move.keys.all().delete()
    move.memberships.all().delete()
    move.state, move.ended_at = State.DROPPED, database_now()
    move.save(update_fields=["state", "ended_at"])
    team = Team(pk=move.team_id, slug=move.slug, name=move.name)
    record("team.dropped", by=by, of=team, team=team, server=move.server, move=str(move.pk))
    return count


def _remove(move: TeamMove) -> int:
    """Removes the rows, a few in each transaction, and those first that name others."""
    _forget_words(move.team_id)
    # Rows of version 0.2 have no team, and would not be found without their deliveries.
    old = Assignment.objects.filter(team__isnull=True, deliveries__team=move.team_id)
    Assignment.objects.filter(pk__in=old.values("pk")).update(team=move.team_id)
    for table in tables_to_remove():
        if name := all_notes().unlinked.get(table.label):
            rows = table.rows_of(move.team_id).order_by()
            rows.filter(**{f"{name}__isnull": False}).update(**{name: None})
    return sum(_remove_rows(table, move.team_id) for table in tables_to_remove())


def _remove_rows(table: TeamTable, team_id: int) -> int:
    count = 0
    while ids := _next_ids(table, team_id):
        with transaction.atomic():
            rows: Any = table.model._base_manager.filter(pk__in=ids)
            rows._raw_delete(rows.db)  # nothing else is to be removed, and no row need be loaded
        count += len(ids)
    return count


def _next_ids(table: TeamTable, team_id: int) -> list[Any]:
    with without_time_limit():
        return list(table.every_row_of(team_id).values_list("pk", flat=True)[:AT_ONCE])


def _forget_words(team_id: int) -> None:
    """Removes the words of the deliveries from the search."""
    last = None
    while True:
        rows = Delivery.objects.for_team(team_id).order_by("pk")
        after = rows if last is None else rows.filter(pk__gt=last)
        ids = list(after.values_list("pk", flat=True)[:AT_ONCE])
        if not ids:
            return
        with transaction.atomic():
            signals.will_be_removed.send(sender=Delivery, delivery_ids=ids)
        last = ids[-1]
