"""Queries that Django compiles once, for the few that agents run all day.

Building the SQL of a QuerySet costs several times what PostgreSQL needs to run it. Here the
QuerySet stays the definition: it is compiled the first time, with a Slot where a value will go,
and afterwards only the values are converted, by the fields that Django would use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from django.db import connection, models
from django.db.models.expressions import Expression
from django.db.models.sql.compiler import SQLCompiler


class Slot(Expression):
    """Where a value of this field's type goes when the query is run."""

    def __init__(self, name: str, field: models.Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> Any:
        return "%s", [self]


class Prepared:
    """`build()` returns a `values_list` QuerySet with Slots; calling it returns the rows."""

    def __init__(self, build: Callable[[], models.QuerySet[Any, Any]]) -> None:
        compiler = build().query.get_compiler(connection=connection)
        self.sql, self.params = compiler.as_sql()
        self.compiler = compiler
        expressions = [column[0] for column in compiler.select]
        self.converters = compiler.get_converters(expressions)

    def rows(self, **values: Any) -> list[tuple[Any, ...]]:
        found = self._fetch(self.sql, values)
        if not self.converters:
            return found
        return [tuple(row) for row in self.compiler.apply_converters(found, self.converters)]

    def count(self, **values: Any) -> int:
        """How many rows there are, counted by the database."""
        counted = f"SELECT COUNT(*) FROM ({self.sql}) AS counted"  # noqa: S608 - Django's own SQL
        ((number,),) = self._fetch(counted, values)
        return int(number)

    def _fetch(self, sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        params = [
            param.output_field.get_db_prep_value(values[param.name], connection)
            if isinstance(param, Slot)
            else param
            for param in self.params
        ]
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return list(cursor.fetchall())


def insert(row: models.Model) -> None:
    """`row.save(force_insert=True)` without compiling it again; a key made by the database is not
    read back."""
    sql, fields = _insert_of(type(row))
    values = [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
    row._state.adding = False
    row._state.db = connection.alias


@cache
def _insert_of(model: type[models.Model]) -> tuple[str, list[models.Field[Any, Any]]]:
    fields = [f for f in model._meta.concrete_fields if not isinstance(f, models.AutoField)]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    slots = ", ".join(["%s"] * len(fields))
    table = quote(model._meta.db_table)
    return f"INSERT INTO {table} ({columns}) VALUES ({slots})", fields  # noqa: S608 - our names
