"""Times are read from PostgreSQL exactly, and fast."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings
from django.db import DataError, connection

from database.postgresql.base import TimeLoader

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL"),
]


def read(text: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [text])
        (value,) = cursor.fetchone()
    return value


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [("59", 0), ("59.5", 500_000), ("59.000001", 1), ("59.12345", 123_450), ("59.999999", 999_999)],
)
def test_a_time_is_read_to_the_microsecond(text: str, microsecond: int) -> None:
    at = read(f"2026-02-28 23:59:{text}+00")

    assert at == datetime(2026, 2, 28, 23, 59, 59, microsecond, tzinfo=UTC)
    assert at.tzinfo is UTC


def test_a_time_of_a_session_elsewhere_is_the_same_time() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL TIME ZONE 'Asia/Kolkata'")

    at = read("2026-02-28 23:59:59.25+00")

    assert at == datetime(2026, 2, 28, 23, 59, 59, 250_000, tzinfo=UTC)
    assert at.tzinfo is UTC


@pytest.mark.parametrize("text", ["infinity", "0044-03-15 BC", "12026-01-01"])
def test_a_time_that_python_cannot_hold_is_an_error(text: str) -> None:
    with pytest.raises(DataError):
        read(text)


def test_every_time_is_read_so() -> None:
    oid = connection.connection.adapters.types["timestamptz"].oid

    assert connection.connection.adapters.get_loader(oid, 0) is TimeLoader
