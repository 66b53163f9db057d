"""Builds the statement that assigns a delivery to the people of a rule, as the team is now."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from typing import Any

from django.db import connection

from wake.models.rules import RuleVersion


@cache
def insert_people() -> str:
    """Returns an INSERT that selects from `assigned`, which its caller has to define: the
    `delivery_id` of the assignment. It assigns to those whom the rule names and who may answer, and
    to the deputies of those of them who are away, unless the rule names the deputy, too."""
    return f"""
        INSERT INTO wake_assignedperson (assignment_id, user_id, name, deputy_for)
        SELECT assigned.delivery_id, person.id, person.display_name, ''
          FROM assigned, accounts_membership AS member
          JOIN accounts_user AS person ON person.id = member.user_id AND person.is_active
         WHERE member.team_id = %s AND member.role IN ('owner', 'reviewer')
           AND {_is_named("member")}
        UNION ALL
        SELECT assigned.delivery_id, deputy.id, deputy.display_name, MIN(away.display_name)
          FROM assigned, accounts_absence AS absence
          JOIN accounts_user AS away ON away.id = absence.user_id AND away.is_active
          JOIN accounts_membership AS member ON member.user_id = away.id
          JOIN accounts_membership AS other
            ON other.user_id = absence.deputy_id AND other.team_id = member.team_id
          JOIN accounts_user AS deputy ON deputy.id = other.user_id AND deputy.is_active
         WHERE absence.until > %s
           AND member.team_id = %s AND member.role IN ('owner', 'reviewer')
           AND {_is_named("member")}
           AND other.role IN ('owner', 'reviewer') AND NOT {_is_named("other")}
         GROUP BY assigned.delivery_id, deputy.id, deputy.display_name
    """  # noqa: S608 - our own names


def _is_named(membership: str) -> str:
    is_one_of = (
        "= ANY(%s)" if connection.vendor == "postgresql" else "IN (SELECT value FROM json_each(%s))"
    )
    return f"({membership}.role = %s OR {membership}.user_id {is_one_of})"


def people_parameters(version: RuleVersion, *, team_id: int, at: datetime) -> list[Any]:
    people = version.people if connection.vendor == "postgresql" else json.dumps(version.people)
    named, now = (version.role, people), connection.ops.adapt_datetimefield_value(at)
    return [team_id, *named, now, team_id, *named, *named]
