"""Chains nine events as version 0.2 did, and tampers with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from accounts.audit import append_only, person, record
from accounts.models import Team, User
from tests.fixtures import version_0_2

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)


@pytest.fixture
def chain(team: Team, alice: User) -> int:
    """Records and chains seven events of the team and two without a team."""
    for number in range(7):
        at = AT + timedelta(seconds=number)
        record("lamp.lit", by=person(alice, "192.0.2.7"), of=team, team=team, at=at, number=number)
    for _ in range(2):
        record("person.signed_in", by=person(alice), of=alice, team=None, at=AT)
    version_0_2.chain_events(at=AT)
    return team.pk


@pytest.fixture
def tamper(chain: int) -> Iterator[Callable[..., None]]:
    """Runs raw SQL as someone would who has dropped the triggers."""
    append_only.unguard(connection)

    def execute(statement: str, *values: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)

    yield execute
    append_only.guard(connection)
