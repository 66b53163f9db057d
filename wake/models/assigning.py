"""Builds the statement that assigns a delivery to the people of a rule, as the team is now."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from django.db import connection

from wake.models.rules import RuleVersion


@cache
def insert_people() -> str:
    """Returns an INSERT that selects from `assigned`, which its caller has to define: the
    `delivery_id` of the assignment. A person who may no longer answer is left out."""
    is_postgresql = connection.vendor == "postgresql"
    people = "ANY(%s)" if is_postgresql else "(SELECT value FROM json_each(%s))"
    is_one_of = f"{'=' if is_postgresql else 'IN'} {people}"
    return f"""
        INSERT INTO wake_assignedperson (assignment_id, user_id, name)
        SELECT assigned.delivery_id, person.id, person.display_name
          FROM assigned, accounts_membership AS member
          JOIN accounts_user AS person ON person.id = member.user_id AND person.is_active
         WHERE member.team_id = %s AND member.role IN ('owner', 'reviewer')
           AND (member.role = %s OR member.user_id {is_one_of})
    """  # noqa: S608 - our own names


def people_parameters(version: RuleVersion, *, team_id: int) -> list[Any]:
    people = version.people if connection.vendor == "postgresql" else json.dumps(version.people)
    return [team_id, version.role, people]
