"""Stores a chain of writes together: as one statement on PostgreSQL, and as steps in a transaction
on SQLite, which has no round trips.

A chain first locks rows and checks its conditions. The chain writes only if all conditions hold. A
chain returns the conditions that failed, so the calling verb knows why nothing was stored
(docs/decisions/0066-a-verb-is-told-once.md). Both databases run the same definition: QuerySets with
Parameters (database/compiled_queries.py), and new rows of models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, connection, connections, models, transaction
from django.db.models.expressions import RawSQL

from database.compiled_queries import (
    CompiledQuery,
    CompiledUpdate,
    Parameter,
    fields_of,
    insert_into,
    list_parameter,
    mark_stored,
    returning,
    type_in_statement,
    type_taken,
)

ALLOWED = "allowed"
NOW_US = Parameter("now_us", models.BigIntegerField())
OWN_OR_NOW = re.compile(r"%\((own|now_us)\)")

Columns = dict[tuple[str, str], Any]  # the key is the step and the name of the column


class Lock:
    """Locks the rows of a QuerySet until the transaction ends. Locks are taken in the order of the
    steps.

    `returns` lists columns to read. `conditions` are expressions that must hold under the lock. A
    lock without `any_number` must find exactly one row. A lock for any number has no conditions.
    """

    def __init__(
        self,
        name: str,
        rows: models.QuerySet[Any],
        *,
        returns: Sequence[str] = (),
        conditions: Mapping[str, Any] | None = None,
        strength: str = "NO KEY UPDATE",
        any_number: bool = False,
    ) -> None:
        self.name, self.rows, self.model = name, rows, rows.model
        self.conditions, self.any_number = conditions or {}, any_number
        self.columns = ["pk", *returns, *self.conditions]
        self.clause = f'FOR {strength} OF "{self.model._meta.db_table}"'

    def query(self, after: Sequence[Lock] = ()) -> CompiledQuery:
        rows = self.rows.filter(
            *[_is_true(f'EXISTS (SELECT FROM "{each.name}")') for each in after]
        )
        return CompiledQuery(lambda: rows.annotate(**self.conditions).values_list(*self.columns))


class Change:
    """Updates the rows that a lock has locked. `returns` lists columns to read afterwards."""

    def __init__(self, name: str, of: Lock, *, returns: Sequence[str] = (), **changes: Any) -> None:
        self.name, self.of, self.columns, self.changes = name, of, list(returns), changes

    def update(self, which: Any) -> CompiledUpdate:
        rows = self.of.model._default_manager.filter(which)
        return CompiledUpdate(rows, returns=self.columns, **self.changes)


@dataclass(frozen=True, slots=True)
class Given:
    """Fills a column of a new row with a column that an earlier step returned."""

    step: str
    column: str

    def sql(self) -> str:
        """Returns an expression of PostgreSQL. In the expression, `%(own)` is the new row's own
        value."""
        return f'"{self.step}"."{self.column}"'

    def value(self, own: Any, given: Any, values: Mapping[str, Any]) -> Any:
        """Computes the result of `sql` in Python, from the value that the earlier step returned."""
        return given


class GivenText(Given):
    """Fills a column of a new row with a column of an earlier step, as text."""

    def sql(self) -> str:
        return f"{super().sql()}::text"

    def value(self, own: Any, given: Any, values: Mapping[str, Any]) -> Any:
        return str(given)


@dataclass(frozen=True, slots=True)
class GivenMember(Given):
    """Adds a column of an earlier step to the new row's JSON object, as the member `name`."""

    name: str

    def sql(self) -> str:
        return f"%(own) || jsonb_build_object('{self.name}', {Given.sql(self)})"

    def value(self, own: Any, given: Any, values: Mapping[str, Any]) -> Any:
        return {**own, self.name: given}


class GivenDelay(Given):
    """Delays an instant of the new row. The delay is the earlier step's column minus the parameter
    `now_us`, both in microseconds since 1970."""

    def sql(self) -> str:
        return f"%(own) + ({super().sql()} - %(now_us)) * interval '1 microsecond'"

    def value(self, own: Any, given: Any, values: Mapping[str, Any]) -> Any:
        return None if own is None else own + timedelta(microseconds=given - values["now_us"])


class New:
    """Inserts a row of a model, or one for each row of a lock. `given` has a Given for each column
    that an earlier step decides. A key that the database generates is returned."""

    def __init__(
        self, name: str, model: type[models.Model], *, for_each: Lock | None = None, **given: Given
    ) -> None:
        self.name, self.model, self.for_each, self.given = name, model, for_each, given
        key = model._meta.pk
        is_generated = isinstance(key, models.AutoField) and not for_each
        self.columns = [key.attname] if is_generated else []

    def fill(self, row: models.Model, columns: Columns, values: Mapping[str, Any]) -> None:
        for name, given in self.given.items():
            value = given.value(getattr(row, name), columns[given.step, given.column], values)
            setattr(row, name, value)


Step = Lock | Change | New


class Stored(NamedTuple):
    """Holds the names of the failed conditions, the columns that the steps returned, and the number
    of rows that a lock with `any_number` found. If a condition failed, nothing was stored."""

    failed: frozenset[str]
    columns: Columns
    number: int


class Chain:
    """Compiles steps once: first the locks, in the order in which every verb locks, then the
    changes and the new rows."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        self.locks = [step for step in steps if isinstance(step, Lock)]
        self.conditions = [
            (lock.name, name)
            for lock in self.locks
            if not lock.any_number
            for name in ("pk", *lock.conditions)
        ]
        self._run = _OneStatement(self) if connection.vendor == "postgresql" else _Steps(self)

    def store(self, *rows: models.Model, **values: Any) -> Stored:
        """Stores the new `rows`, in the order of the steps that insert them, and sets the columns
        that they were given. `values` has the values of all Parameters."""
        return self._run.store(rows, values)

    def failed(self, columns: Columns) -> frozenset[str]:
        """Returns the names of the conditions that do not hold. If a lock found no row, its own
        name and the names of its conditions are included."""
        return frozenset(
            lock if name == "pk" else name
            for lock, name in self.conditions
            if not columns[lock, name]
        )


class _Steps:
    """Runs a chain step by step."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.queries = {lock.name: lock.query() for lock in chain.locks}
        self.updates = {
            step.name: step.update(
                models.Q(pk__one_of=list_parameter("pks", step.of.model, _key_of(step.of.model)))
            )
            for step in chain.steps
            if isinstance(step, Change)
        }

    @transaction.atomic(savepoint=False)
    def store(self, rows: Sequence[models.Model], values: Mapping[str, Any]) -> Stored:
        columns: Columns = {}
        locked = {name: query.rows(**values) for name, query in self.queries.items()}
        for lock in self.chain.locks:
            found = locked[lock.name]
            _store_columns(columns, lock, found[0] if found else [None] * len(lock.columns))
        number = sum(len(locked[lock.name]) for lock in self.chain.locks if lock.any_number)
        if failed := self.chain.failed(columns):
            return Stored(failed, columns, number)
        unsaved = iter(rows)
        for step in self.chain.steps:
            if isinstance(step, Change):
                pks = [pk for pk, *_ in locked[step.of.name]]
                update = self.updates[step.name]
                if step.columns:
                    _store_columns(columns, step, update.returned(**values, pks=pks)[0])
                else:
                    update.run(**values, pks=pks)
            elif isinstance(step, New):
                row = next(unsaved)
                if step.for_each is None:
                    step.fill(row, columns, values)
                    row.save(force_insert=True)
                    _store_columns(columns, step, [row.pk] * len(step.columns))
                    continue
                copies = []
                for each in locked[step.for_each.name]:
                    _store_columns(columns, step.for_each, each)
                    copies.append(copy(row))
                    step.fill(copies[-1], columns, values)
                step.model._default_manager.bulk_create(copies)
        return Stored(failed, columns, number)


def _store_columns(columns: Columns, step: Step, row: Sequence[Any]) -> None:
    columns.update({(step.name, name): v for name, v in zip(step.columns, row, strict=True)})


class _OneStatement:
    """Runs a chain as one statement of PostgreSQL, in which each step is a part of the WITH clause.

    A lock waits for other transactions first. Then it reads its row and checks its conditions. The
    writes need the one row of the part `allowed`, which exists if all conditions hold.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.parameters: list[Any] = []
        self.inserts = [step for step in chain.steps if isinstance(step, New)]
        parts = [self._lock(lock, chain.locks[:place]) for place, lock in enumerate(chain.locks)]
        parts.append(self._allowed())
        for step in chain.steps:
            if isinstance(step, Change):
                parts.append(self._change(step))
            elif isinstance(step, New):
                parts.append(self._insert(step))
        sql = f"WITH {', '.join(parts)} {self._result()}"
        for number in range(1, len(self.parameters) + 1):
            sql = sql.replace("%s", f"${number}", 1)
        self.sql = sql

    def store(self, rows: Sequence[models.Model], values: Mapping[str, Any]) -> Stored:
        database: Any = connections[DEFAULT_DB_ALIAS]
        parameters = []
        for each in self.parameters:
            if isinstance(each, _Column):
                parameters.append(each.prepared(rows[each.place], database))
            elif isinstance(each, Parameter):
                parameters.append(each.prepared(values[each.name]))
            else:
                parameters.append(each)
        with database.raw_cursor() as cursor:
            cursor.execute(self.sql, parameters)
            *read, number = cursor.fetchone()
        columns: Columns = dict(zip(self.read, read, strict=True))
        failed = self.chain.failed(columns)
        if not failed:
            for step, row in zip(self.inserts, rows, strict=True):
                if step.for_each is None:
                    step.fill(row, columns, values)
                    for name in step.columns:
                        setattr(row, name, columns[step.name, name])
                    mark_stored(row)
        return Stored(failed, columns, number)

    def _lock(self, lock: Lock, after: Sequence[Lock]) -> str:
        query = lock.query(after)
        self.parameters += query.params
        names = ", ".join(f'"{column}"' for column in lock.columns)
        return f'"{lock.name}" ({names}) AS ({query.sql} {lock.clause})'

    def _allowed(self) -> str:
        locks = [f'"{lock.name}"' for lock in self.chain.locks if not lock.any_number]
        names = [f'"{lock}"."{name}"' for lock, name in self.chain.conditions if name != "pk"]
        source = f" FROM {', '.join(locks)}" if locks else ""
        where = f" WHERE {' AND '.join(names)}" if names else ""
        return f'"{ALLOWED}" AS (SELECT{source}{where})'

    def _change(self, step: Change) -> str:
        quote, model = connection.ops.quote_name, step.of.model
        key = f"{quote(model._meta.db_table)}.{quote(_key_of(model))}"
        locked = f'SELECT "{step.of.name}"."pk" FROM "{step.of.name}", "{ALLOWED}"'  # noqa: S608 - our own names
        update = step.update(_is_true(f"{key} = ANY (ARRAY({locked}))"))
        self.parameters += update.params
        return f'"{step.name}" AS ({update.sql})'

    def _insert(self, step: New) -> str:
        columns = [self._column(step, field) for field in fields_of(step.model)]
        of_each = [step.for_each.name] if step.for_each else []
        sources = dict.fromkeys([ALLOWED, *of_each, *[each.step for each in step.given.values()]])
        listed = ", ".join(f'"{source}"' for source in sources)
        insert = f"{insert_into(step.model)} SELECT {', '.join(columns)} FROM {listed}"  # noqa: S608 - our own names
        return f'"{step.name}" AS ({insert}{returning(step.model, step.columns)})'

    def _column(self, step: New, field: models.Field[Any, Any]) -> str:
        """Returns the expression of a column, and adds its parameters. A parameter in a SELECT
        needs its type."""
        given = step.given.get(field.attname)

        def parameter(found: re.Match[str]) -> str:
            if found[1] == "now_us":
                self.parameters.append(NOW_US)
                return "%s::bigint"
            place = self.inserts.index(step)
            self.parameters.append(_Column(place, field.attname, field, type_taken(field)))
            return f"%s::{type_in_statement(field)}"

        return OWN_OR_NOW.sub(parameter, given.sql() if given else "%(own)")

    def _result(self) -> str:
        """Returns a query that always has one row, even if a lock found none."""
        many = [lock.name for lock in self.chain.locks if lock.any_number]
        read = [step for step in self.chain.steps if step.columns and step.name not in many]
        self.read = [(step.name, column) for step in read for column in step.columns]
        columns = [f'"{name}"."{column}"' for name, column in self.read]
        columns.append(f'(SELECT COUNT(*) FROM "{many[0]}")' if many else "0")  # noqa: S608 - our own names
        joined = "".join(f' LEFT JOIN "{step.name}" ON TRUE' for step in read)
        return f"SELECT {', '.join(columns)} FROM (SELECT) AS one{joined}"  # noqa: S608 - our own names


class _Column(NamedTuple):
    """Marks the place of a new row's column among the parameters of a statement."""

    place: int
    name: str
    field: models.Field[Any, Any]
    taken: type | None

    def prepared(self, row: models.Model, database: Any) -> Any:
        value = getattr(row, self.name)
        if type(value) is self.taken:
            return value
        return self.field.get_db_prep_save(value, database)


def _is_true(sql: str) -> Any:
    return RawSQL(sql, (), output_field=models.BooleanField())  # noqa: S611 - our own names


def _key_of(model: type[models.Model]) -> str:
    return str(model._meta.pk.column)
