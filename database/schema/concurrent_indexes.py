"""Adds an index to a table in use, or removes one, without blocking writes (on PostgreSQL)."""

from __future__ import annotations

from typing import Any

from django.db.migrations import AddIndex, AlterField, RemoveIndex


class AddIndexConcurrently(AddIndex):
    """Needs a migration with `atomic = False`. First removes the index that a failed attempt left
    behind."""

    atomic = False

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, *states)
            return
        model = states[1].apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        name = schema_editor.quote_name(self.index.name)
        # Building the index waits for transactions without blocking any, so there is no time limit.
        schema_editor.execute("SET lock_timeout = 0")
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        schema_editor.add_index(model, self.index, concurrently=True)
        schema_editor.execute("RESET lock_timeout")


class RemoveIndexConcurrently(RemoveIndex):
    """Needs a migration with `atomic = False`."""

    atomic = False

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, *states)
            return
        model = states[0].apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            # Waits for transactions without blocking any, like building the index.
            schema_editor.execute("SET lock_timeout = 0")
            name = schema_editor.quote_name(self.name)
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            schema_editor.execute("RESET lock_timeout")


class DropForeignKeyIndex(AlterField):
    """Removes the index that Django added for a foreign key. The key now has `db_index=False`.
    Needs a migration with `atomic = False`."""

    atomic = False

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        model = states[0].apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        is_postgresql = schema_editor.connection.vendor == "postgresql"
        drop = "DROP INDEX CONCURRENTLY IF EXISTS" if is_postgresql else "DROP INDEX"
        for name in self._indexes(model, schema_editor):
            schema_editor.execute(f"{drop} {schema_editor.quote_name(name)}")

    def database_backwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        model = states[1].apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        if not self._indexes(model, schema_editor):
            field = model._meta.get_field(self.name)
            schema_editor.execute(schema_editor._create_index_sql(model, fields=[field]))

    def _indexes(self, model: Any, schema_editor: Any) -> list[str]:
        """Returns the names of the indexes that cover only this column and that the model does not
        define."""
        names: list[str] = schema_editor._constraint_names(
            model,
            [model._meta.get_field(self.name).column],
            index=True,
            unique=False,
            exclude={index.name for index in model._meta.indexes},
        )
        return names
