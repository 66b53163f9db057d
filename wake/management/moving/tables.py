"""Lists the tables with rows of a team, in the order in which they can be stored.

Rows with a UUID keep it. Rows with a number get another number on the other server, so a table
comes after the tables whose numbers it names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import Q, QuerySet

from accounts.models import ApiKey, Team, User
from accounts.models.moves import path_to_team
from wake.management.moving.notes import all_notes
from wake.models import Delivery

# Rows of version 0.2 have no team, but their deliveries do.
OLD_ROWS = {
    "wake.Assignment": ("team__isnull", "pk__in"),
    "wake.AssignedPerson": ("assignment__team__isnull", "assignment__in"),
}
# Numbered rows that audit events are about.
OBJECTS_OF_EVENTS = (
    *("accounts.Membership", "accounts.ClaimedId", "accounts.SigningSecret"),
    *("accounts.Team", "wake.CallbackHost"),
)
ROWS_AT_ONCE = 500


@dataclass(frozen=True)
class TeamTable:
    model: type[models.Model]

    @property
    def label(self) -> str:
        return self.model._meta.label

    @property
    def fields(self) -> list[models.Field[Any, Any]]:
        return list(self.model._meta.concrete_fields)

    @property
    def is_numbered(self) -> bool:
        """Returns whether the database numbers the rows."""
        return isinstance(self.model._meta.pk, models.AutoField)

    @property
    def rows_at_once(self) -> int:
        return all_notes().rows_at_once.get(self.label, ROWS_AT_ONCE)

    def rows_of(self, team_id: int) -> QuerySet[Any]:
        """Returns the rows that move, in the order of their ids."""
        rows = self.every_row_of(team_id)
        # A client's key is left out with its grant.
        return rows.filter(grant__isnull=True) if self.model is ApiKey else rows

    def every_row_of(self, team_id: int) -> QuerySet[Any]:
        path = "__".join(path_to_team(self.model) or ())
        of_team = Q(**{path: team_id})
        if self.label in OLD_ROWS:
            has_no_team, is_assignment = OLD_ROWS[self.label]
            assigned = Delivery.objects.for_team(team_id).values("assignment")
            of_team |= Q(**{has_no_team: True, is_assignment: assigned})
        return self.model._base_manager.filter(of_team).order_by("pk")


@cache
def moved_tables() -> tuple[TeamTable, ...]:
    """Returns the tables that move: first the team, and each table after those whose numbers its
    rows name."""
    left_out = all_notes().left_out
    moved = {table.label: table for table in every_table() if table.label not in left_out}
    graph = {label: set(_numbered(table, moved)) for label, table in moved.items()}
    team = Team._meta.label
    order = [label for label in TopologicalSorter(graph).static_order() if label != team]
    return tuple(moved[label] for label in [team, *order])


@cache
def tables_to_remove() -> tuple[TeamTable, ...]:
    """Returns the tables of a team, those that name others first."""
    unlinked = all_notes().unlinked  # without these foreign keys, there is no circle
    kept = {"accounts.TeamMove", "accounts.MovedKey", "accounts.MovedMembership"}
    every = {table.label: table for table in every_table() if table.label not in kept}
    graph = {
        label: {
            target
            for field in table.fields
            if (target := _target(field)) in every
            and target != label
            and unlinked.get(label) != field.name
        }
        for label, table in every.items()
    }
    return tuple(every[label] for label in [*TopologicalSorter(graph).static_order()][::-1])


@cache
def named_tables() -> frozenset[str]:
    """Returns the labels of the numbered tables whose numbers other rows or audit events name."""
    every = {table.label: table for table in moved_tables()}
    named = {label for table in moved_tables() for label in _numbered(table, every)}
    return frozenset(named | {label for label in OBJECTS_OF_EVENTS if every[label].is_numbered})


def every_table() -> Iterator[TeamTable]:
    for model in apps.get_models(include_auto_created=True):
        if model is Team or path_to_team(model) is not None:
            yield TeamTable(model)


def _numbered(table: TeamTable, moved: dict[str, TeamTable]) -> Iterator[str]:
    """Yields the labels of other moved tables whose numbers this table names."""
    others = all_notes().numbers.get(table.label)
    targets = [*map(_target, table.fields), *(others.labels if others else [])]
    for target in targets:
        if target in moved and target != table.label and moved[target].is_numbered:
            yield target


def _target(field: models.Field[Any, Any]) -> str:
    related: Any = field.related_model
    return related._meta.label if related and related is not User else ""
