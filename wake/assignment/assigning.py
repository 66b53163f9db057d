"""Assigns a delivery as it is stored, in its transaction."""

from __future__ import annotations

from django.db import connection

from database.compiled_queries import insert
from wake.models import Assignment, Delivery, RuleVersion
from wake.models.assigning import insert_people, people_parameters

STORED = "WITH assigned AS (SELECT delivery_id FROM wake_assignment WHERE delivery_id = %s)"


def assign(delivery: Delivery, version: RuleVersion) -> None:
    """Stores the assignment, and the people whom the rule names as the team is at this moment. On
    PostgreSQL, one_statement.store() does it with the delivery if nothing is in the way."""
    assignment = assignment_of(delivery, version)
    insert(assignment)
    ours = Assignment._meta.pk.get_db_prep_value(delivery.pk, connection)
    people = people_parameters(version, team_id=delivery.team_id, at=delivery.created_at)
    with connection.cursor() as cursor:
        cursor.execute(STORED + insert_people(), [ours, *people])


def assignment_of(delivery: Delivery, version: RuleVersion) -> Assignment:
    """Builds the row."""
    return Assignment(delivery=delivery, rule_version=version, only_they=version.only_they)
