"""Adds an index to a table in use without blocking writes (on PostgreSQL)."""

from __future__ import annotations

from typing import Any

from django.db.migrations import AddIndex


class AddIndexConcurrently(AddIndex):
    """Needs a migration with `atomic = False`. It first removes what a failed attempt left."""

    atomic = False

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, *states)
            return
        model = states[1].apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        name = schema_editor.quote_name(self.index.name)
        # It waits for transactions without blocking any, so it may wait as long as it takes.
        schema_editor.execute("SET lock_timeout = 0")
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        schema_editor.add_index(model, self.index, concurrently=True)
        schema_editor.execute("RESET lock_timeout")
