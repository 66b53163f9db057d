"""Closes a team on this server while it moves, and opens it again.

The keys of a closed team are stopped, its memberships are set aside, and the move holds the lease
of each callback that waits. So the usual conditions of requests refuse the team, and no request
needs another query. Jobs leave its rows out (accounts/access/moves.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import transaction
from django.db.models import F, Q, QuerySet

from accounts.access import members
from accounts.access.moves import is_closed
from accounts.agents.topics import topic_of
from accounts.audit import Actor, record
from accounts.models import Agent, Membership, MovedKey, MovedMembership, Team, TeamMove
from database.notifications import notify
from wake import signals
from wake.management.moving.notes import all_notes
from wake.management.moving.rows import PlainRow
from wake.management.moving.tables import TeamTable
from wake.models import Callback, Response

FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
State = TeamMove.State


class AlreadyClosed(Exception):
    """This team moves already. See its state with `move_team list`."""


@transaction.atomic
def close(team: Team, *, server: str, by: Actor, at: datetime) -> TeamMove:
    """Closes the team, which will move to this server. Raises AlreadyClosed."""
    members.hold(team.pk)
    if is_closed(team.pk):
        raise AlreadyClosed(AlreadyClosed.__doc__)
    move = TeamMove.objects.create(
        team=team,
        state=State.LEAVING,
        slug=team.slug,
        name=team.name,
        server=server,
        began_at=at,
    )
    for rows in _keys_of(team.pk):
        stop_keys(move, rows.filter(revoked_at__isnull=True))
    set_aside(move, team.memberships.all())
    hold_callbacks(move, at=at)
    record("team.move_began", by=by, of=team, team=team, at=at, server=server, move=str(move.pk))
    _notify(team.pk)
    return move


def stop_keys(move: TeamMove, keys: QuerySet[Any]) -> None:
    digests = list(keys.values_list("digest", flat=True))
    MovedKey.objects.filter(digest__in=digests).delete()  # of an earlier move
    MovedKey.objects.bulk_create(MovedKey(digest=digest, move=move) for digest in digests)
    keys.update(revoked_at=move.began_at)


def set_aside(move: TeamMove, memberships: QuerySet[Membership]) -> None:
    MovedMembership.objects.bulk_create(
        MovedMembership(
            move=move,
            user_id=each.user_id,
            membership_id=each.pk,
            role=each.role,
            from_groups=each.from_groups,
            created_at=each.created_at,
        )
        for each in memberships.order_by("pk")
    )
    memberships.all().delete()


def hold_callbacks(move: TeamMove, *, at: datetime) -> int:
    """Takes the lease of each waiting callback that no sender has. Returns how many callbacks a
    sender still has."""
    waiting = Callback.objects.unfinished().filter(team=move.team_id).exclude(lease=move.pk)
    is_free = Q(leased_until__isnull=True) | Q(leased_until__lte=at)
    waiting.filter(is_free).update(lease=move.pk, leased_until=FOREVER)
    return waiting.count()


@transaction.atomic
def reopen(move: TeamMove, *, state: str, event: str, by: Actor, at: datetime) -> None:
    """Opens the team again on this server, and ends the move with this state. People who answered
    just before the move have their whole time to undo the answer."""
    team = members.hold(move.team_id)
    stopped = move.keys.values("digest")
    for rows in _keys_of(team.pk):
        rows.filter(revoked_at=move.began_at, digest__in=stopped).update(revoked_at=None)
    Membership.objects.bulk_create(
        Membership(
            pk=each.membership_id,
            team=team,
            user_id=each.user_id,
            role=each.role,
            from_groups=each.from_groups,
            created_at=each.created_at,
        )
        for each in move.memberships.order_by("membership_id")
    )
    Callback.objects.filter(lease=move.pk).update(lease=None, leased_until=None)
    held = Response.objects.held().filter(delivery__team=team)
    held.update(release_at=F("release_at") + (at - move.began_at))
    _forget_ways(TeamMove.objects.filter(team=team))
    earlier = TeamMove.objects.filter(team=team, state=State.LEFT)
    earlier.update(state=State.RETURNED)
    move.state, move.ended_at = state, at
    move.save(update_fields=["state", "ended_at"])
    record(event, by=by, of=team, team=team, at=at, server=move.server, move=str(move.pk))
    _notify(team.pk)
    signals.wake_worker_on_commit(Callback)


def as_open(table: TeamTable, row: PlainRow, move: TeamMove, stopped: set[str]) -> PlainRow:
    """Returns the row as it is while the team is open. `stopped` has the digests of the keys that
    the move stopped."""
    is_key = table.label in all_notes().keys
    if is_key and row["revoked_at"] == move.began_at and row["digest"] in stopped:
        return {**row, "revoked_at": None}
    if table.model is Callback and row["lease"] == move.pk:
        return {**row, "lease": None, "leased_until": None}
    return row


def as_closed(table: TeamTable, row: PlainRow, move: TeamMove) -> PlainRow:
    """Returns the row as it is while the move closes the team."""
    if table.label in all_notes().keys and row["revoked_at"] is None:
        return {**row, "revoked_at": move.began_at}
    if table.model is Callback and row["due_at"] is not None:
        return {**row, "lease": move.pk, "leased_until": FOREVER}
    return row


def stopped_keys(move: TeamMove) -> set[str]:
    return set(move.keys.values_list("digest", flat=True))


def _forget_ways(moves: QuerySet[TeamMove]) -> None:
    """Forgets the keys and memberships of moves, because the team is here again."""
    MovedKey.objects.filter(move__in=moves).delete()
    MovedMembership.objects.filter(move__in=moves).delete()


def _keys_of(team_id: int) -> Iterable[QuerySet[Any]]:
    """Yields the keys of each kind, also those of clients that signed in."""
    for label, path in all_notes().keys.items():
        yield apps.get_model(label)._base_manager.filter(**{path: team_id})


def _notify(team_id: int) -> None:
    """Ends requests that wait with keys of the team, or lets them begin again."""
    ids: Iterable[UUID] = Agent.objects.filter(team=team_id).values_list("pk", flat=True)
    notify(*map(topic_of, ids))
    signals.team_closed.send(sender=Team, team_id=team_id)
