"""Adds a check constraint to a table in use without blocking writes (on PostgreSQL)."""

from __future__ import annotations

from typing import Any

from django.db.migrations import AddConstraint


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
        table = schema_editor.quote_name(model._meta.db_table)
        name = schema_editor.quote_name(self.constraint.name)
        schema_editor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}")
        create = self.constraint.create_sql(model, schema_editor)
        schema_editor.execute(f"{create} NOT VALID", params=None)
        schema_editor.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")
