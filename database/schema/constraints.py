"""Adds checks to a table in use without blocking writes (on PostgreSQL)."""

from __future__ import annotations

from typing import Any

from django.db.migrations import AddConstraint, AddField
from django.db.migrations.operations.base import Operation


class AddCheckInSteps(AddConstraint):
    """Adds the check for new rows first, because this is quick. Then reads the old rows without a
    lock that blocks writers. Needs a migration with `atomic = False`. First removes the check that
    a failed attempt left behind."""

    atomic = False

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, *states)
            return
        model = states[1].apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        create = self.constraint.create_sql(model, schema_editor)
        _check_in_steps(schema_editor, model, self.constraint.name, create)


class AddFieldCheckedLater(AddField):
    """Adds a column whose type has a check, such as a PositiveIntegerField, without the check. With
    it, PostgreSQL would read the table while nothing else can. CheckFieldInSteps follows, in a
    later migration."""

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            field = states[1].apps.get_model(app_label, self.model_name)._meta.get_field(self.name)
            field.db_check = lambda connection: None
        super().database_forwards(app_label, schema_editor, *states)


class CheckFieldInSteps(Operation):
    """Adds the check of a column that AddFieldCheckedLater added, as AddCheckInSteps does. Needs a
    migration with `atomic = False`."""

    atomic = False

    def __init__(self, model_name: str, name: str) -> None:
        self.model_name, self.name = model_name, name

    @property
    def model_name_lower(self) -> str:
        return self.model_name.lower()

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Changes nothing, because the field has had the check in the state from the start."""

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        model = states[1].apps.get_model(app_label, self.model_name)
        is_postgresql = schema_editor.connection.vendor == "postgresql"
        if is_postgresql and self.allow_migrate_model(schema_editor.connection.alias, model):
            field = model._meta.get_field(self.name)
            # PostgreSQL gives this name to a check that is a part of the column.
            name = f"{model._meta.db_table}_{field.column}_check"
            check = field.db_parameters(schema_editor.connection)["check"]
            create = schema_editor.sql_create_check % {
                "table": schema_editor.quote_name(model._meta.db_table),
                "name": schema_editor.quote_name(name),
                "check": check,
            }
            _check_in_steps(schema_editor, model, name, create)

    def database_backwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        """Leaves the check, which goes with its column."""

    def describe(self) -> str:
        return f"Check {self.name} on {self.model_name}"


def _check_in_steps(schema_editor: Any, model: Any, name: str, create: Any) -> None:
    table, name = schema_editor.quote_name(model._meta.db_table), schema_editor.quote_name(name)
    schema_editor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}")
    schema_editor.execute(f"{create} NOT VALID", params=None)
    schema_editor.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")
