"""Migrations remove an index from a table in use, and bring it back."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection, models
from django.db.migrations.state import ProjectState

from database.schema.concurrent_indexes import DropForeignKeyIndex, RemoveIndexConcurrently

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_index_of_a_foreign_key_goes_and_comes_back() -> None:
    before = ProjectState.from_apps(apps)
    drop = DropForeignKeyIndex(
        "pushconfig",
        "task",
        models.ForeignKey(
            "relay.task", models.CASCADE, related_name="push_configs", db_index=False
        ),
    )
    after = before.clone()
    drop.state_forwards("relay", after)

    with connection.schema_editor(atomic=False) as editor:
        drop.database_forwards("relay", editor, before, after)
        drop.database_forwards("relay", editor, before, after)  # once more, after a failure
    dropped = indexes_of_task()
    with connection.schema_editor(atomic=False) as editor:
        drop.database_backwards("relay", editor, after, before)

    assert dropped == []
    assert len(indexes_of_task()) == 1


def test_an_index_goes_and_comes_back() -> None:
    before = ProjectState.from_apps(apps)
    remove = RemoveIndexConcurrently("run", "dispatches_to_lease")
    after = before.clone()
    remove.state_forwards("relay", after)

    with connection.schema_editor(atomic=False) as editor:
        remove.database_forwards("relay", editor, before, after)
    removed = names_of_indexes("relay_dispatch")
    with connection.schema_editor(atomic=False) as editor:
        remove.database_backwards("relay", editor, after, before)

    assert "dispatches_to_lease" not in removed
    assert "dispatches_to_lease" in names_of_indexes("relay_dispatch")


def names_of_indexes(table: str) -> set[str]:
    with connection.cursor() as cursor:
        return set(connection.introspection.get_constraints(cursor, table))


def indexes_of_task() -> list[str]:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, "relay_pushconfig")
    return [
        name
        for name, each in found.items()
        if each["index"] and not each["unique"] and each["columns"] == ["task_id"]
    ]
