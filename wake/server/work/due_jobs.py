"""Asks in one statement which jobs have rows to work on, so that the others need not start.

Usually no row is due, and then this statement is all that an idle server does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from celery import Celery
from django.db import connection, models

from database.compiled_queries import Parameter, bound
from database.sweeps import DueRows, rows_of


def due_jobs_of(app: Celery) -> DueJobs:
    """Imports all jobs, and returns those of beat's schedule that start for due rows."""
    app.loader.import_default_modules()
    rows = {job: rows_of(app.signature(job).type.run) for job in app.conf.beat_schedule}
    return DueJobs({job: queries for job, queries in rows.items() if queries})


class DueJobs:
    """Asks for several jobs, by their names."""

    def __init__(self, rows: Mapping[str, Sequence[DueRows]]) -> None:
        self._rows = rows
        self.names = frozenset(rows)

    def ask(self, *, at: datetime) -> set[str]:
        """Returns the names of the jobs that have rows at this time."""
        sql, params = self._statement
        with connection.cursor() as cursor:
            cursor.execute(sql, bound(params, {"at": at}))
            found = cursor.fetchone()
        return {name for name, has_rows in zip(self._rows, found, strict=True) if has_rows}

    @cached_property
    def _statement(self) -> tuple[str, list[Any]]:
        at = Parameter("at", models.DateTimeField())
        columns, params = [], []
        for queries in self._rows.values():
            exist = []
            for rows in queries:
                compiler = rows(at).query.exists().get_compiler(connection=connection)
                sql, own = compiler.as_sql()
                exist.append(f"EXISTS ({sql})")
                params += own
            columns.append(" OR ".join(exist))
        return f"SELECT {', '.join(columns)}", params
