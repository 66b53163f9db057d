"""Defines the moves of teams between servers (docs/cells.md)."""

from __future__ import annotations

import uuid
from functools import cache
from typing import Any, TypeVar

from django.db import models
from django.db.models import Q, QuerySet

from accounts.models.people import Membership, Team, User

Row = TypeVar("Row", bound=models.Model)
Path = tuple[str, ...]

CLOSES = Q(state__in=["leaving", "arrived"]) | Q(state="left", removed_at__isnull=True)


class TeamMoveQuerySet(models.QuerySet["TeamMove"]):
    def that_close(self) -> TeamMoveQuerySet:
        """Returns the moves whose team is closed on this server. Index: one_move_closes_a_team."""
        return self.filter(CLOSES)

    def arrivals(self) -> TeamMoveQuerySet:
        """Returns the moves that brought a team to this server."""
        return self.filter(state__in=[TeamMove.State.ARRIVED, TeamMove.State.OPENED])


class TeamMove(models.Model):
    """Records one move of a team, with the same id on both servers. While a move closes the team,
    no one can use the team on this server, and no job works on its rows."""

    class State(models.TextChoices):
        LEAVING = "leaving", "Leaving: copied to a folder, and may still stay"
        STAYED = "stayed", "Stayed here"
        LEFT = "left", "Left for the other server"
        RETURNED = "returned", "Left, and came back"
        ARRIVED = "arrived", "Arrived: stored here, and not opened yet"
        OPENED = "opened", "Opened here"
        DROPPED = "dropped", "Dropped before it was opened"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Keeps the number of a team whose rows were removed.
    team = models.ForeignKey(
        Team, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="moves"
    )
    state = models.CharField(max_length=8, choices=State)
    # The team's handle and name, which pages and callers of its A2A agents need after the rows of
    # the team were removed.
    slug = models.SlugField(max_length=50)
    name = models.CharField(max_length=80)
    # The address of the other server.
    server = models.CharField(max_length=300)
    began_at = models.DateTimeField()
    # When the team left, stayed, was opened or dropped.
    ended_at = models.DateTimeField(null=True)
    # When the rows of a team that left were removed here.
    removed_at = models.DateTimeField(null=True)
    # The number of rows of each table, and the hash over their content.
    ledger = models.JSONField(default=dict)
    # For a team that arrived: the servers where it was, each {"server", "team", "keys"} with the
    # number that the team had there, and the keys of /.well-known/wake-keys.json.
    servers = models.JSONField(default=list)

    objects = TeamMoveQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team"], condition=CLOSES, name="one_move_closes_a_team"
            )
        ]

    def __str__(self) -> str:
        return f"Move {self.pk} of {self.slug}"

    @property
    def has_left(self) -> bool:
        return self.state == self.State.LEFT


class MovedKey(models.Model):
    """Remembers a key that stopped because its team moves, so that its requests are told where the
    team is. The digest is the SHA-256 of the key."""

    digest = models.CharField(max_length=64, primary_key=True, editable=False)
    move = models.ForeignKey(TeamMove, on_delete=models.CASCADE, related_name="keys")

    def __str__(self) -> str:
        return f"Key of {self.move}"


class MovedMembership(models.Model):
    """Stores the membership of a person while their team is closed by a move. After the team left,
    tells the person where it is."""

    move = models.ForeignKey(
        TeamMove, on_delete=models.CASCADE, related_name="memberships", db_index=False
    )
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    # The id of the membership, which comes back if the team stays.
    membership_id = models.BigIntegerField()
    role = models.CharField(max_length=10, choices=Membership.Role)
    from_groups = models.BooleanField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["move", "user"], name="one_moved_membership_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.move}"


def closed_teams() -> QuerySet[TeamMove, Any]:
    """Returns the ids of the closed teams, as a subquery. Usually there are none."""
    return TeamMove.objects.that_close().values("team")


def without_closed_teams(rows: QuerySet[Row]) -> QuerySet[Row]:
    """Leaves out the rows of closed teams. Rows that lead to no team stay."""
    path = path_to_team(rows.model)
    return rows if path is None else rows.exclude(**{f"{'__'.join(path)}__in": closed_teams()})


@cache
def path_to_team(model: type[models.Model]) -> Path | None:
    """Returns the names of the foreign keys that lead from the model to its team, or None. Keys
    that may be null are used only if no others lead there."""
    return _path(model, nullable=False) or _path(model, nullable=True)


def _path(model: type[models.Model], *, nullable: bool) -> Path | None:
    """Searches the shortest path, one key further in each round."""
    paths: dict[Any, Path] = {model: ()}
    waiting = [model]
    while waiting:
        current = waiting.pop(0)
        if current is Team:
            return (*paths[current], "pk") if model is Team else paths[current]
        for field in current._meta.concrete_fields:
            related: Any = field.related_model
            if related and related not in paths and (nullable or not field.null):
                paths[related] = (*paths[current], field.name)
                waiting.append(related)
    return None
