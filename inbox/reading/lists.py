"""Reads the same list of deliveries for each team of a person, and for each type."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from database.batched_queries import Variant
from database.compiled_queries import parameter
from wake.models import Delivery

# The placeholders for the team and the type in the query of a list.
TEAM = parameter("team", Delivery, "team")
TYPE = parameter("type", Delivery, "type")

Lists = list[Variant[Delivery]]


def each_team(rows: QuerySet[Delivery], team_ids: Iterable[int]) -> Lists:
    """Returns one list for each team, from a query with the parameter TEAM."""
    return [Variant(rows, {"team": team_id}) for team_id in team_ids]


def each_type(rows: QuerySet[Delivery], types: Iterable[str], team_ids: Iterable[int]) -> Lists:
    """Returns one list for each type and team, from a query with the parameters TYPE and TEAM."""
    return [
        Variant(rows, {"team": team_id, "type": type}) for type in types for team_id in team_ids
    ]
