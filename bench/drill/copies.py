"""Copies the seeds with new ids and earlier times, inside PostgreSQL.

Every constraint and every trigger stays on. Only indexes that are not unique are dropped, and are
built after the rows. Words and their time buckets have no constraint, so `problems` compares them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import connection, models, transaction

from accounts.models import AuditEvent
from inbox.models import Reading, Searchable
from inbox.search.time_buckets import buckets_of
from wake.models import Callback, CallbackAttempt, Delivery, Response

# The rows of a delivery, each after the rows that it refers to.
FAMILY: tuple[type[models.Model], ...] = (
    *(Delivery, Response, Callback, CallbackAttempt),
    *(Reading, Searchable, AuditEvent),
)
ROWS_AT_ONCE = 50_000
SAMPLE = 500
# As inbox/search/time_buckets.py names them. `problems` compares them with the names there.
BUCKETS = """ARRAY(
    SELECT owner || '.' || delivery.lane || '.'
        || to_char((delivery.activity_at - copy.number * %(step)s) AT TIME ZONE 'UTC', period)
    FROM unnest(ARRAY['team' || delivery.team_id,
            'agent' || replace(delivery.agent_id::text, '-', '')]) owner,
        unnest(ARRAY['YYYY-MM-DD', 'YYYY-MM']) period)"""
PROBLEMS = {
    "deliveries without words": """
        SELECT count(*) FROM wake_delivery d
        WHERE NOT EXISTS (SELECT FROM inbox_searchable s WHERE s.delivery_id = d.id)""",
    "words without a delivery": """
        SELECT count(*) FROM inbox_searchable s
        WHERE NOT EXISTS (SELECT FROM wake_delivery d WHERE d.id = s.delivery_id)""",
    "deliveries without an audit event": """
        SELECT count(*) FROM wake_delivery d WHERE NOT EXISTS (
            SELECT FROM accounts_auditevent e
            WHERE e.object_id = d.id::text AND e.event = 'delivery.received')""",
    "unchecked constraints": "SELECT count(*) FROM pg_constraint WHERE NOT convalidated",
    "triggers that are off": "SELECT count(*) FROM pg_trigger WHERE tgenabled <> 'O'",
    "indexes that are not valid": "SELECT count(*) FROM pg_index WHERE NOT indisvalid",
}


def multiply(copies: int, *, seeds: int, step: timedelta) -> None:
    """Makes so many copies of all seeds. Copy number n is n steps earlier. The oldest copy is
    written first."""
    with connection.cursor() as cursor:
        for model in FAMILY:
            table = model._meta.db_table
            only = " WHERE object_kind = 'delivery'" if model is AuditEvent else ""
            cursor.execute(f"CREATE TEMP TABLE seed_{table} AS SELECT * FROM {table}{only}")  # noqa: S608
    at_once = max(1, ROWS_AT_ONCE // seeds)
    for last in range(copies, 0, -at_once):
        first = max(1, last - at_once + 1)
        with patient() as cursor:
            for model in FAMILY:
                cursor.execute(_insert(model), {"first": first, "last": last, "step": step})
        _say(f"{(copies - first + 1) * seeds:,} of {copies * seeds:,} copied")
    with connection.cursor() as cursor:
        for model in FAMILY:
            cursor.execute(f"DROP TABLE seed_{model._meta.db_table}")


@contextmanager
def indexes_built_last() -> Iterator[None]:
    """Drops the indexes of these tables that are not unique, and builds them at the end."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
            " WHERE indrelid = ANY(%s::regclass[]) AND NOT indisunique",
            [[model._meta.db_table for model in FAMILY]],
        )
        definitions = dict(cursor.fetchall())
        for name in definitions:
            cursor.execute(f"DROP INDEX {name}")
    try:
        yield
    finally:
        for name, definition in definitions.items():
            _say(f"building the index {name}")
            with patient() as cursor:
                cursor.execute(definition)


def problems() -> list[str]:
    """Returns what is wrong with the rows, without the audit, which `audit_verify` checks."""
    found = []
    for what, query in PROBLEMS.items():
        with patient() as cursor:
            cursor.execute(query)
            (count,) = cursor.fetchone()
        if count:
            found.append(f"{count} {what}")
    sample = Searchable.objects.select_related("delivery").order_by("delivery")[:SAMPLE]
    wrong = [row for row in sample if row.time_buckets != buckets_of(row.delivery)]
    if wrong:
        found.append(f"{len(wrong)} of {SAMPLE} words in the wrong time buckets")
    return found


def _insert(model: type[models.Model]) -> str:
    """Returns the statement that copies the seeds of one table."""
    table = model._meta.db_table
    fields = [
        each for each in model._meta.concrete_fields if not isinstance(each, models.AutoField)
    ]
    columns = ", ".join(str(field.column) for field in fields)
    values = ", ".join(_value(model, field) for field in fields)
    of_delivery = " JOIN seed_wake_delivery delivery ON delivery.id = delivery_id"
    join = of_delivery if model is Searchable else ""
    return (
        f"INSERT INTO {table} ({columns}) SELECT {values}"  # noqa: S608 - names of models
        " FROM generate_series(%(last)s, %(first)s, -1) copy (number)"
        f" CROSS JOIN seed_{table} seed{join}"
    )


def _value(model: type[models.Model], field: models.Field[object, object]) -> str:
    """Returns the copy's value of a column: a new id, an earlier time, or the value of the seed."""
    column = f"seed.{field.column}"
    if model is AuditEvent and field.attname == "object_id":
        return f"{_new_id(column)}::text"
    if model is Searchable and field.attname == "time_buckets":
        return BUCKETS
    if isinstance(field, models.DateTimeField):
        return f"{column} - copy.number * %(step)s"
    if field.related_model in FAMILY or (field.primary_key and isinstance(field, models.UUIDField)):
        return _new_id(column)
    return column


def _new_id(column: str) -> str:
    """Returns a UUID4 that follows from the seed's id and the number of the copy, so that the rows
    of a copy refer to each other."""
    digits = f"md5({column}::text || copy.number)"
    return f"overlay(overlay({digits} PLACING '4' FROM 13) PLACING '8' FROM 17)::uuid"


@contextmanager
def patient() -> Iterator[Any]:
    """Lets statements of a transaction take longer than those of a server."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SET LOCAL synchronous_commit = off")
        cursor.execute("SET LOCAL maintenance_work_mem = '256MB'")
        yield cursor


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)  # noqa: T201 - the progress of hours
