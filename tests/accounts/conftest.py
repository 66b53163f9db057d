"""Provides nine events in the audit, and a way to tamper with their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from accounts.audit import append_only, person, record
from accounts.log import sweep
from accounts.models import Team, User
from tests.fixtures import version_0_2

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)


@pytest.fixture
def nine_events(team: Team, alice: User) -> int:
    """Records seven events of the team and two without a team. Returns the team's id."""
    for number in range(7):
        at = AT + timedelta(seconds=number)
        record("lamp.lit", by=person(alice, "192.0.2.7"), of=team, team=team, at=at, number=number)
    for _ in range(2):
        record("person.signed_in", by=person(alice), of=alice, team=None, at=AT)
    return team.pk


@pytest.fixture
def logged(nine_events: int) -> int:
    """Logs the events. Returns the team's id."""
    sweep.append_new(at=AT)
    return nine_events


@pytest.fixture
def chain(nine_events: int) -> int:
    """Chains the events as version 0.2 did. Returns the team's id."""
    version_0_2.chain_events(at=AT)
    return nine_events


@pytest.fixture
def make_manifest(tmp_path: Path) -> Callable[[], Path]:
    """Writes the manifest of a backup that is made now, and returns its path."""

    def make() -> Path:
        output = StringIO()
        call_command("backup", "--manifest", stdout=output)
        path = tmp_path / "manifest.json"
        path.write_text(output.getvalue())
        return path

    return make


@pytest.fixture
def tamper(db: None) -> Iterator[Callable[..., None]]:
    """Runs raw SQL without the triggers, because an attacker could drop them."""
    append_only.unguard(connection)

    def execute(statement: str, *values: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)

    yield execute
    append_only.guard(connection)
