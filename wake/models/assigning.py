"""Adds named people to an assignment, in the team's present state."""

from __future__ import annotations

import json
from datetime import datetime

from django.db import connection

from wake.models.rules import Assignment


def add_people(
    assignment: Assignment,
    people: list[int],
    role: str,
    *,
    added_after: int | None = None,
    at: datetime,
) -> None:
    """Adds the named people who may answer. For each absent person among them, adds the deputy,
    unless the deputy is named, too. Leaves out people who are already assigned."""
    on_postgresql = connection.vendor == "postgresql"
    kinds = ("uuid", "bigint", "timestamptz", "integer", "text", "text::bigint[]")
    casts = [f"%s::{kind}" for kind in kinds] if on_postgresql else ["%s"] * len(kinds)
    names = ("assignment_id", "team_id", "at", "added_after", "role", "people")
    given = ", ".join(f"{cast} AS {name}" for cast, name in zip(casts, names, strict=True))
    statement = f"""
        WITH assigned AS (SELECT {given})
        INSERT INTO wake_assignedperson (assignment_id, user_id, name, deputy_for, added_after)
        SELECT assignment_id, user_id, name, deputy_for, added_after
          FROM (SELECT assigned.assignment_id, person.id AS user_id, person.display_name AS name,
                       CASE WHEN {_is_named("member")} THEN '' ELSE ({_away()}) END AS deputy_for,
                       assigned.added_after
                  FROM assigned
                  JOIN accounts_membership AS member ON member.team_id = assigned.team_id
                  JOIN accounts_user AS person ON person.id = member.user_id
                 WHERE member.role IN ('owner', 'reviewer') AND person.is_active) AS people
         WHERE deputy_for IS NOT NULL
        ON CONFLICT DO NOTHING
    """  # noqa: S608 - our own names
    listed = json.dumps(people)
    parameters = [
        Assignment._meta.pk.get_db_prep_value(assignment.pk, connection),
        assignment.team_id,
        connection.ops.adapt_datetimefield_value(at),
        added_after,
        role,
        "{" + listed[1:-1] + "}" if on_postgresql else listed,
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def _away() -> str:
    """Returns a query for the name of an absent person. The rule names the absent person, and
    `person` is their deputy. The name is NULL if there is no such person."""
    return f"""
        SELECT MIN(away.display_name)
          FROM accounts_absence AS absence
          JOIN accounts_user AS away ON away.id = absence.user_id AND away.is_active
          JOIN accounts_membership AS other
            ON other.user_id = away.id AND other.team_id = assigned.team_id
         WHERE absence.deputy_id = person.id AND absence.until > assigned.at
           AND other.role IN ('owner', 'reviewer') AND {_is_named("other")}
    """  # noqa: S608 - our own names


def _is_named(membership: str) -> str:
    is_one_of = (
        "= ANY(assigned.people)"
        if connection.vendor == "postgresql"
        else "IN (SELECT value FROM json_each(assigned.people))"
    )
    return f"({membership}.role = assigned.role OR {membership}.user_id {is_one_of})"
