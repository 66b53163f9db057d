"""Writes many rows together, as fast as the database takes them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from django.db import connection, models

from inbox.models.words import WordsField


def write(rows: Sequence[models.Model]) -> None:
    """Writes rows of one model. Does not read back keys that the database generates."""
    if not rows:
        return
    meta = rows[0]._meta
    fields = [field for field in meta.concrete_fields if not isinstance(field, models.AutoField)]
    quote = connection.ops.quote_name
    table = f"{quote(meta.db_table)} ({', '.join(quote(str(field.column)) for field in fields)})"
    (_copy if connection.vendor == "postgresql" else _insert)(table, fields, rows)


def _copy(table: str, fields: Sequence[Any], rows: Sequence[models.Model]) -> None:
    """Lets psycopg write the values directly, except for two kinds of values. This costs half as
    much as Django's fields."""
    values = attrgetter(*(field.attname for field in fields))
    kinds = (models.JSONField, WordsField)
    others = [(index, field) for index, field in enumerate(fields) if isinstance(field, kinds)]
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in rows:
            line = list(values(row))
            for index, field in others:
                line[index] = field.get_db_prep_save(line[index], connection)
            copy.write_row(line)


def _insert(table: str, fields: Sequence[Any], rows: Sequence[models.Model]) -> None:
    values = [
        [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]
        for row in rows
    ]
    slots = ", ".join(["%s"] * len(fields))
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} VALUES ({slots})", values)  # noqa: S608 - ours
