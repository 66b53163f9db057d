"""Closes teams that move to another server, and says where they are (docs/cells.md).

A closed team has no members and no keys that work (wake/management/moving/closing.py), so nothing
here runs on the way of a usual request. Jobs leave its rows out (accounts/models/moves.py).
"""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.access.key_texts import digest_of, form_of, is_whole
from accounts.models import Team, TeamMove, User
from accounts.models.moves import closed_teams

KEY = form_of("[a-z]+")  # of any kind


class TeamMoving(Exception):
    """This team is moving to another server. Nothing was stored. Try again in a minute."""


class TeamMoved(Exception):
    """This team has moved to another server. `server` is its address."""

    def __init__(self, server: str) -> None:
        super().__init__(
            f"This team has moved to {server}. Nothing was stored. Send the request there, with "
            "the same key."
        )
        self.server = server


def is_closed(team_id: int) -> bool:
    return TeamMove.objects.that_close().filter(team=team_id).exists()


def refuse_moved_key(text: str) -> None:
    """Raises TeamMoving or TeamMoved if this is the key of a team that moves or has moved. Makes no
    query for a text that is no key."""
    if KEY.fullmatch(text) and is_whole(text):
        _refuse(TeamMove.objects.filter(keys__digest=digest_of(text)))


def refuse_moved_handle(handle: str) -> None:
    """Raises TeamMoving or TeamMoved if the team with this handle moves or has moved. A team that
    took the handle later is not refused."""
    if not Team.objects.filter(slug=handle).exclude(pk__in=closed_teams()).exists():
        moves = TeamMove.objects.filter(slug=handle)
        _refuse(moves.that_close() | moves.filter(state=TeamMove.State.LEFT))


def moves_of(user: User) -> QuerySet[TeamMove]:
    """Returns the moves that took a team away from this person. Index: the foreign key to the
    person."""
    return TeamMove.objects.filter(memberships__user=user).order_by("name", "pk")


def _refuse(moves: QuerySet[TeamMove]) -> None:
    move = moves.order_by("-began_at").first()
    if move is None:
        return
    if move.state == TeamMove.State.LEFT:
        raise TeamMoved(move.server)
    raise TeamMoving(TeamMoving.__doc__)
