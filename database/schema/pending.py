"""Finds the migrations that a database lacks."""

from __future__ import annotations

from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor


def pending_migrations() -> list[Migration]:
    """Returns the migrations in the order in which `migrate` runs them. Migrations that the
    database has and this code does not know are left out, because a newer version may have run."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [migration for migration, _ in plan]
