"""`migrate` works out all statements of a migration, locks all tables at once, and runs them."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations import AddField, Migration, RunPython
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from django.db.models import ForeignKey, IntegerField
from django.db.models.deletion import CASCADE
from django.test.utils import CaptureQueriesContext

from database.schema.executor import BriefExecutor

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _on_postgresql(db: None) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("about PostgreSQL")


def apply(*operations: Any) -> tuple[list[str], Any]:
    """Returns the statements that changed tables or locked them, and the state afterwards."""
    migration = type("Migration", (Migration,), {"operations": list(operations)})
    reports: list[str] = []
    executor = BriefExecutor(connection, lambda action, *_: reports.append(action))
    with CaptureQueriesContext(connection) as queries:
        state = executor.apply_migration(
            ProjectState.from_apps(apps), migration("9999_lamps", "accounts")
        )
    assert reports == ["apply_start", "apply_success"]
    texts = [query["sql"] for query in queries]
    return [text for text in texts if text.startswith(("ALTER", "CREATE", "LOCK"))], state


def columns(table: str) -> list[str]:
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, table)
    return [column.name for column in described]


def test_all_tables_are_locked_before_the_first_is_changed() -> None:
    (lock, *statements), state = apply(
        AddField("team", "lamps", IntegerField(null=True)),
        AddField("agent", "lamps", IntegerField(null=True)),
    )

    assert lock == 'LOCK TABLE "accounts_agent", "accounts_team" IN ACCESS EXCLUSIVE MODE'
    assert [each.partition(" ADD ")[0] for each in statements] == [
        'ALTER TABLE "accounts_team"',
        'ALTER TABLE "accounts_agent"',
    ]
    assert "lamps" in columns("accounts_team")
    assert "lamps" in state.models["accounts", "agent"].fields
    assert ("accounts", "9999_lamps") in MigrationRecorder(connection).applied_migrations()


def test_a_table_that_is_referred_to_can_still_be_read() -> None:
    (strong, weak, *_), _ = apply(
        AddField("agent", "lamp", ForeignKey("accounts.gate", CASCADE, null=True))
    )

    assert strong == 'LOCK TABLE "accounts_agent" IN ACCESS EXCLUSIVE MODE'
    assert weak == 'LOCK TABLE "accounts_gate" IN SHARE ROW EXCLUSIVE MODE'


def test_code_runs_as_in_django() -> None:
    runs: list[str] = []

    statements, _ = apply(
        AddField("team", "lamps", IntegerField(null=True)),
        RunPython(lambda historical, editor: runs.append(editor.connection.vendor)),
    )

    assert runs == ["postgresql"]
    assert not any(each.startswith("LOCK") for each in statements)
    assert "lamps" in columns("accounts_team")
