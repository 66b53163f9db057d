"""One clock for everything that workers on several machines must agree about: the database's."""

from datetime import datetime
from typing import cast

from django.db import connection
from django.utils import timezone


def database_now() -> datetime:
    """PostgreSQL's wall clock; SQLite has no other than this machine's."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    return cast(datetime, now)
