"""Runs queries that Django compiles only once, for the few that agents run all day.

Building the SQL of a QuerySet costs several times what PostgreSQL needs to run it. Here the
QuerySet is still the definition. It is compiled the first time, with a Parameter in place of each
value; afterwards only the values are converted, by the fields that Django would use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from django.db import connection, models
from django.db.models.expressions import Expression
from django.db.models.sql.compiler import SQLCompiler


class Parameter(Expression):
    """Stands for a value of this field's type, which is given when the query is run."""

    def __init__(self, name: str, field: models.Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> Any:
        return "%s", [self]


class CompiledQuery:
    """A query from `build()`, which returns a `values_list` QuerySet with Parameters."""

    def __init__(self, build: Callable[[], models.QuerySet[Any, Any]]) -> None:
        compiler = build().query.get_compiler(connection=connection)
        self.sql, self.params = compiler.as_sql()
        self.compiler = compiler
        expressions = [column[0] for column in compiler.select]
        self.converters = compiler.get_converters(expressions)

    def rows(self, **values: Any) -> list[tuple[Any, ...]]:
        rows = self._fetch(self.sql, values)
        if not self.converters:
            return rows
        return [tuple(row) for row in self.compiler.apply_converters(rows, self.converters)]

    def count(self, **values: Any) -> int:
        """Has the database count the rows."""
        counted = f"SELECT COUNT(*) FROM ({self.sql}) AS counted"  # noqa: S608 - Django's own SQL
        ((number,),) = self._fetch(counted, values)
        return int(number)

    def _fetch(self, sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        params = [
            param.output_field.get_db_prep_value(values[param.name], connection)
            if isinstance(param, Parameter)
            else param
            for param in self.params
        ]
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return list(cursor.fetchall())


def insert(row: models.Model) -> None:
    """Does what `row.save(force_insert=True)` does, without compiling it again. A primary key that
    the database generates is not read back."""
    with connection.cursor() as cursor:
        cursor.execute(_insert_of(type(row)), values_of(row))
    row._state.adding = False
    row._state.db = connection.alias


def insert_many(rows: Sequence[models.Model]) -> None:
    """Does what `bulk_create` does, without compiling each value. Primary keys that the database
    generates are not read back."""
    if not rows:
        return
    model = type(rows[0])
    at_once = connection.ops.bulk_batch_size(fields_of(model), rows)
    with connection.cursor() as cursor:
        for begin in range(0, len(rows), at_once):
            batch = rows[begin : begin + at_once]
            placeholders = ", ".join([f"({_placeholders(model)})"] * len(batch))
            values = [value for row in batch for value in values_of(row)]
            cursor.execute(f"{insert_into(model)} VALUES {placeholders}", values)


def values_of(row: models.Model) -> list[Any]:
    """Returns the values of `fields_of(type(row))`, as the database takes them."""
    return [
        field.get_db_prep_save(getattr(row, field.attname), connection)
        for field in fields_of(type(row))
    ]


@cache
def fields_of(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    """Returns the fields that an insert writes: all but a primary key that the database
    generates."""
    return [f for f in model._meta.concrete_fields if not isinstance(f, models.AutoField)]


@cache
def _insert_of(model: type[models.Model]) -> str:
    return f"{insert_into(model)} VALUES ({_placeholders(model)})"


def _placeholders(model: type[models.Model]) -> str:
    return ", ".join(["%s"] * len(fields_of(model)))


def insert_into(model: type[models.Model]) -> str:
    """Returns an INSERT up to its columns, which are those of `fields_of(model)`."""
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields_of(model))
    return f"INSERT INTO {quote(model._meta.db_table)} ({columns})"
