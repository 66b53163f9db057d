"""Runs queries that Django compiles only once. These queries are the few that the requests of
agents need all day.

Building the SQL of a QuerySet costs several times what PostgreSQL needs to run it. Here the
QuerySet is still the definition. The QuerySet is compiled the first time, with a Parameter in place
of each value; afterwards only the values are converted, by the fields that Django would use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property
from typing import Any, cast
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.models.base import ModelState
from django.db.models.expressions import Expression
from django.db.models.lookups import Lookup
from django.db.models.sql import UpdateQuery
from django.db.models.sql.compiler import SQLCompiler

# The exact type of a field decides, because a subclass may convert or encrypt the same value.
TAKEN_AS_THEY_ARE: dict[type, type] = {
    models.CharField: str,
    models.TextField: str,
    models.UUIDField: UUID,
    models.DateTimeField: datetime,
    models.BooleanField: bool,
}


class Parameter(Expression):
    """Stands for a value of this field's type, which is passed when the query runs."""

    def __init__(self, name: str, field: models.Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> Any:
        return "%s", [self]

    def prepared(self, value: Any) -> Any:
        """Returns the value in the form that the database takes."""
        return self.output_field.get_db_prep_value(value, connection)


class ListParameter(Parameter):
    """Stands for any number of values, as the operand of the lookup `one_of`."""

    def prepared(self, values: Any) -> Any:
        database = connections[DEFAULT_DB_ALIAS]  # `connection` would look up the alias at each use
        field = self.output_field
        prepared = [field.get_db_prep_value(value, database) for value in values]
        if database.vendor != "postgresql":
            return json.dumps(prepared)
        return _array(prepared, of=field, database=database)


def _array(
    values: Sequence[Any], *, of: models.Field[Any, Any], database: Any
) -> Sequence[Any] | str:
    """Returns an array for PostgreSQL. This function writes ids itself, because psycopg would look
    up for each id how to write it."""
    if of.db_type(database) != "uuid":
        return values
    ids: Sequence[UUID | None] = values
    return "{" + ",".join(["NULL" if each is None else each.hex for each in ids]) + "}"


class OneOf(Lookup):
    """Works like `in`, with all values in one ListParameter, so that the SQL is the same for any
    number of values."""

    lookup_name = "one_of"

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> Any:
        left, values = self.process_lhs(compiler, connection)
        right, more = self.process_rhs(compiler, connection)
        if connection.vendor == "postgresql":
            return f"{left} = ANY({right})", [*values, *more]
        return f"{left} IN (SELECT value FROM json_each({right}))", [*values, *more]  # noqa: S608 - no values


models.Field.register_lookup(OneOf)


class SameAs(Lookup):
    """Works like `exact`, but null equals null."""

    lookup_name = "same_as"

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> Any:
        left, values = self.process_lhs(compiler, connection)
        right, more = self.process_rhs(compiler, connection)
        is_same = "IS NOT DISTINCT FROM" if connection.vendor == "postgresql" else "IS"
        return f"{left} {is_same} {right}", [*values, *more]


models.Field.register_lookup(SameAs)


def parameter(name: str, model: type[models.Model], field: str) -> Any:
    """Returns a Parameter with the type of a model's field."""
    return Parameter(name, cast("models.Field[Any, Any]", model._meta.get_field(field)))


def list_parameter(name: str, model: type[models.Model], field: str) -> Any:
    """Returns a ListParameter with the type of a model's field."""
    return ListParameter(name, cast("models.Field[Any, Any]", model._meta.get_field(field)))


class CompiledQuery:
    """Compiles the query from `build()` once; `build()` returns a QuerySet with Parameters. Use
    `rows()` for a query of `values_list`, and `objects()` for one of model instances."""

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

    def objects(self, **values: Any) -> list[Any]:
        """Returns instances of the model, with their related instances and annotations, as a
        QuerySet makes them (django.db.models.query.ModelIterable)."""
        annotations = self.compiler.annotation_col_map.items()
        instances = []
        for row in self.rows(**values):
            instance = self._maker.make(row)
            for name, position in annotations:
                setattr(instance, name, row[position])
            instances.append(instance)
        return instances

    @cached_property
    def _maker(self) -> _Maker:
        made_of = self.compiler.klass_info
        assert made_of is not None  # noqa: S101 - for the type checker: it selects something
        return _Maker(made_of, self.compiler.select)

    def count(self, **values: Any) -> int:
        """Returns how many rows the query has, counted by the database."""
        counted = f"SELECT COUNT(*) FROM ({self.sql}) AS counted"  # noqa: S608 - Django's own SQL
        ((number,),) = self._fetch(counted, values)
        return int(number)

    def _fetch(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql, bound(self.params, values))
            return list(cursor.fetchall())


class _Maker:
    """Makes instances of a model, and of the models that it refers to, from rows of a query.

    This class does Django's work without `__init__`, which calls a descriptor for each column and
    costs ten times as much. A column that was not selected is loaded when it is read.
    """

    def __init__(self, made_of: Mapping[str, Any], select: Sequence[Any]) -> None:
        self.model: type[models.Model] = made_of["model"]
        if self.model.__init__ is not models.Model.__init__:
            raise TypeError(f"{self.model.__name__} has an __init__, which would not be called.")
        own = made_of["select_fields"]
        self.begin, self.end = own[0], own[-1] + 1
        self.names = [select[place][0].target.attname for place in range(self.begin, self.end)]
        self.key = self.begin + self.names.index(self.model._meta.pk.attname)
        self.related = [
            (_Maker(other, select), other["local_setter"], other["remote_setter"])
            for other in made_of.get("related_klass_infos", [])
        ]

    def make(self, row: tuple[Any, ...]) -> models.Model | None:
        """Makes an instance from a row. Returns None if the row has no such instance, as after an
        outer join."""
        if row[self.key] is None:
            return None
        instance = self.model.__new__(self.model)
        instance._state = ModelState()
        mark_stored(instance)
        vars(instance).update(zip(self.names, row[self.begin : self.end], strict=True))
        for maker, refer_to, refer_back in self.related:
            other = maker.make(row)
            refer_to(instance, other)
            if other is not None:
                refer_back(other, instance)
        return instance


class CompiledUpdate:
    """Compiles an UPDATE of the rows of a QuerySet with Parameters; the values of `changes` may be
    Parameters, too. `returned` reads the columns in `returns` after the change."""

    def __init__(
        self, rows: models.QuerySet[Any], *, returns: Sequence[str] = (), **changes: Any
    ) -> None:
        query: Any = rows.query.chain(UpdateQuery)
        query.add_update_values(changes)
        query.clear_ordering(force=True)
        sql, self.params = query.get_compiler(connection=connection).as_sql()
        self.sql = sql + returning(rows.model, returns)

    def run(self, **values: Any) -> int:
        """Runs the statement. Returns how many rows it changed."""
        with connection.cursor() as cursor:
            cursor.execute(self.sql, bound(self.params, values))
            return int(cursor.rowcount)

    def returned(self, **values: Any) -> list[tuple[Any, ...]]:
        """Returns the columns of each changed row, as the database stores them."""
        with connection.cursor() as cursor:
            cursor.execute(self.sql, bound(self.params, values))
            return list(cursor.fetchall())


def bound(params: Iterable[Any], values: Mapping[str, Any]) -> list[Any]:
    """Returns the parameters of a compiled query, with a value in place of each Parameter."""
    return [
        param.prepared(values[param.name]) if isinstance(param, Parameter) else param
        for param in params
    ]


def insert_columns(model: type[models.Model], given: Mapping[str, Sequence[Any]]) -> None:
    """Inserts rows that are given as columns. PostgreSQL gets each column as one value or one
    array, so no instances are made. `given` has the values of each attribute, one for each row."""
    database = connections[DEFAULT_DB_ALIAS]  # `connection` would look up the alias at each use
    columns = [given[field.attname] for field in fields_of(model)]
    if not columns[0]:
        return
    if database.vendor == "postgresql":
        with database.cursor() as cursor:
            cursor.execute(*_insert_arrays(model, columns, database))
        return
    rows = [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]
    model._default_manager.bulk_create([model(**row) for row in rows])


@cache
def fields_of(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    """Returns the fields that an insert writes: all fields except a primary key that the database
    generates."""
    return [f for f in model._meta.concrete_fields if not isinstance(f, models.AutoField)]


def _insert_arrays(
    model: type[models.Model], columns: Sequence[Sequence[Any]], database: Any
) -> tuple[str, list[Any]]:
    """Returns an INSERT and its parameters. If all rows have the same value in a column, as in most
    columns, the column has one value. Each other column has an array."""
    same: list[bool] = []
    values, arrays = [], []
    for field, column in zip(fields_of(model), columns, strict=True):
        # The first column is always an array, because it says how many rows there are. In JSON,
        # equal values may be written differently: 1 and true.
        may_be_same = bool(same) and not isinstance(field, models.JSONField)
        same.append(may_be_same and column.count(column[0]) == len(column))
        if same[-1]:
            values.append(field.get_db_prep_save(column[0], database))
        else:
            prepared = [field.get_db_prep_save(value, database) for value in column]
            arrays.append(_array(prepared, of=field, database=database))
    return _statement_of_arrays(model, tuple(same)), values + arrays


@cache
def _statement_of_arrays(model: type[models.Model], same: tuple[bool, ...]) -> str:
    """Returns an INSERT that is the same for any number of rows."""
    quote = connection.ops.quote_name
    names, selected, arrays = [], [], []
    for field, is_same in zip(fields_of(model), same, strict=True):
        kind, name = str(field.db_type(connection)).split("(")[0], quote(str(field.column))
        selected.append(f"%s::{kind}" if is_same else name)
        if not is_same:
            names.append(name)
            arrays.append(f"%s::{kind}[]")
    return (
        f"{insert_into(model)} SELECT {', '.join(selected)}"  # noqa: S608 - no values
        f" FROM UNNEST({', '.join(arrays)}) AS given ({', '.join(names)})"
    )


def mark_stored(row: models.Model) -> None:
    row._state.adding = False
    row._state.db = DEFAULT_DB_ALIAS


def returning(model: type[models.Model], names: Sequence[str]) -> str:
    """Returns the clause that makes a statement return these columns."""
    if not names:
        return ""
    quote = connection.ops.quote_name
    columns = [quote(str(model._meta.get_field(name).column)) for name in names]  # type: ignore[union-attr]
    return f" RETURNING {', '.join(columns)}"


def insert_into(model: type[models.Model]) -> str:
    """Returns the beginning of an INSERT, up to and including the list of its columns, which come
    from `fields_of(model)`."""
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields_of(model))
    return f"INSERT INTO {quote(model._meta.db_table)} ({columns})"


def type_in_statement(field: models.Field[Any, Any]) -> str:
    """Returns the type of PostgreSQL without a length. PostgreSQL then refuses a text that is too
    long, instead of cutting it."""
    return str(field.db_type(connection)).partition("(")[0]


def type_taken(field: models.Field[Any, Any]) -> type | None:
    """Returns the type of the values that the database takes unchanged, so that Django has nothing
    to convert, or None if there is no such type."""
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    return TAKEN_AS_THEY_ARE.get(type(field)) if connection.vendor == "postgresql" else None
