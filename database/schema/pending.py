"""Finds the migrations that a database lacks, and what each would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations import CreateModel, SeparateDatabaseAndState
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


@dataclass(frozen=True, slots=True)
class PendingOperation:
    """An operation with its statements. `statements` is None if they depend on rows, or on what an
    earlier pending operation makes."""

    operation: Operation
    statements: tuple[str, ...] | None


def pending_migrations() -> list[Migration]:
    """Returns the migrations in the order in which `migrate` runs them. Migrations that the
    database has and this code does not know are left out, because a newer version may have run."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [migration for migration, _ in plan]


def steps_of_pending_migrations() -> Iterator[tuple[Migration, list[PendingOperation]]]:
    """Yields what `migrate` would do to tables that are there, and does nothing of it."""
    executor = MigrationExecutor(connection)
    graph, applied = executor.loader.graph, executor.loader.applied_migrations
    plan = executor.migration_plan(graph.leaf_nodes())
    state = executor.loader.project_state([each for each in applied if each in graph.nodes])
    reader = Reader(state, with_new_models=False)
    with_tables = {app for app, _ in applied}
    for migration, _ in plan:
        steps = list(reader.steps(migration.operations, migration.app_label))
        if migration.app_label not in with_tables:
            steps = [step for step in steps if step.statements is not None]
        yield migration, steps


class Reader:
    """Follows the state of the models from one operation to the next."""

    def __init__(self, state: ProjectState, *, with_new_models: bool = True) -> None:
        """Without new models, operations on them are left out, which takes a third of the time."""
        self.state = state
        self._is_skipping = not with_new_models
        self._new_models: set[tuple[str, str]] = set()

    def steps(self, operations: Sequence[Operation], app: str) -> Iterator[PendingOperation]:
        for operation in operations:
            if isinstance(operation, SeparateDatabaseAndState):
                before = self.state.clone()
                yield from self.steps(operation.database_operations, app)
                self.state = before  # as in Django, these operations change no state
                self._forwards(operation, app)
            elif self._is_skipping and self._is_of_a_new_model(operation, app):
                self._forwards(operation, app)
            elif not operation.reduces_to_sql:
                yield PendingOperation(operation, None)
                self._forwards(operation, app)
            else:
                before, self.state = self.state, self.state.clone()
                operation.state_forwards(app, self.state)
                yield PendingOperation(operation, _statements(operation, app, before, self.state))

    def _is_of_a_new_model(self, operation: Operation, app: str) -> bool:
        if isinstance(operation, CreateModel):
            self._new_models.add((app, operation.name_lower))
            return True
        name = getattr(operation, "model_name_lower", getattr(operation, "name_lower", ""))
        return (app, name) in self._new_models

    def _forwards(self, operation: Operation, app: str) -> None:
        """Drops the classes of the models first. Django would replace them for each operation,
        which takes most of the time."""
        self.state.__dict__.pop("apps", None)
        operation.state_forwards(app, self.state)


def _statements(
    operation: Operation, app: str, before: ProjectState, after: ProjectState
) -> tuple[str, ...] | None:
    with transaction.atomic(), connection.schema_editor(collect_sql=True, atomic=False) as editor:
        if connection.vendor == "postgresql":
            # Nothing is written, also if an operation does not go through the editor.
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
        try:
            operation.database_forwards(app, editor, before, after)
        except ValueError:  # it looks for the name of a constraint that is not there yet
            return None
        collected: list[str] = [*editor.collected_sql, *map(str, editor.deferred_sql)]
    return tuple(each for each in collected if not each.startswith("--"))
