"""Reads whether PostgreSQL archives its write-ahead log, which point-in-time recovery needs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection


@dataclass(frozen=True, slots=True)
class Archive:
    """Says when a file was last archived, and when this last failed. Each may be unknown."""

    archived_at: datetime | None
    failed_at: datetime | None

    @property
    def is_failing(self) -> bool:
        if self.failed_at is None:
            return False
        return self.archived_at is None or self.failed_at > self.archived_at


def wal_archive() -> Archive | None:
    """Returns None if the database archives nothing."""
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT last_archived_time, last_failed_time FROM pg_stat_archiver"
            " WHERE current_setting('archive_mode') <> 'off'"
        )
        row = cursor.fetchone()
    return None if row is None else Archive(*row)
