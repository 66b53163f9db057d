"""Builds the statement that assigns a delivery to named people, as the team is now."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection

from wake.models.rules import Assignment


@cache
def insert_people() -> str:
    """Returns an INSERT that selects from `assigned`, which its caller has to define: the
    `delivery_id` of the assignment, the `team_id`, the instant (`at`), and the `role` and the
    `people` who are named. It assigns to those who are named and may answer, and to the deputies of
    those of them who are away, unless the deputy is named, too."""
    return f"""
        INSERT INTO wake_assignedperson (assignment_id, user_id, name, deputy_for)
        SELECT delivery_id, user_id, name, deputy_for
          FROM (SELECT assigned.delivery_id, person.id AS user_id, person.display_name AS name,
                       CASE WHEN {_is_named("member")} THEN '' ELSE ({_away()}) END AS deputy_for
                  FROM assigned
                  JOIN accounts_membership AS member ON member.team_id = assigned.team_id
                  JOIN accounts_user AS person ON person.id = member.user_id
                 WHERE member.role IN ('owner', 'reviewer') AND person.is_active) AS people
         WHERE deputy_for IS NOT NULL
    """  # noqa: S608 - our own names


def _away() -> str:
    """Returns a query for the name of one of the named people for whom `person` is the deputy; it
    is NULL if there are none."""
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


def named_columns() -> str:
    """Returns the columns `role` and `people` of `assigned`, with the parameters `named`."""
    if connection.vendor == "postgresql":
        return "%s::text AS role, %s::text::bigint[] AS people"
    return "%s AS role, %s AS people"


def named(people: list[int], role: str) -> list[Any]:
    """Returns the values of named_columns(). The list is a text, because psycopg needs longer to
    convert a list."""
    listed = json.dumps(people)
    return [role, "{" + listed[1:-1] + "}" if connection.vendor == "postgresql" else listed]


def add_people(
    delivery_id: UUID, people: list[int], role: str, *, team_id: int, at: datetime
) -> None:
    """Assigns a delivery that has an assignment to these people, too."""
    instant = "%s::timestamptz" if connection.vendor == "postgresql" else "%s"
    statement = f"""
        WITH assigned AS (
            SELECT delivery_id, %s AS team_id, {instant} AS at, {named_columns()}
              FROM wake_assignment WHERE delivery_id = %s)
        {insert_people()} ON CONFLICT DO NOTHING
    """  # noqa: S608 - our own names
    now = connection.ops.adapt_datetimefield_value(at)
    key = Assignment._meta.pk.get_db_prep_value(delivery_id, connection)
    with connection.cursor() as cursor:
        cursor.execute(statement, [team_id, now, *named(people, role), key])
