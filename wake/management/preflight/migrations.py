"""Says which migrations are pending, and what people and agents would notice of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from django.db import connection

from database.schema.locks import Blocked
from database.schema.pending import pending_migrations
from pages.sizes import size
from pages.times import amount
from wake.management.preflight.findings import Finding, Level
from wake.management.preflight.forecasts import Forecast, forecasts

PART = "migrations"
# From here on, a person notices.
NOTICED_SECONDS = 1.0
# Requests answer 503 after this time (LIMITS in database/postgresql/bounded_connections.py).
REFUSED_SECONDS = 5.0


def pending() -> list[Forecast]:
    """Returns the forecasts of pending migrations. On SQLite they have only names."""
    if connection.vendor == "postgresql":
        return list(forecasts())
    return [
        Forecast(f"{each.app_label}.{each.name}", bool(each.atomic))
        for each in pending_migrations()
    ]


def findings(plan: Sequence[Forecast]) -> Iterator[Finding]:
    if not plan:
        yield Finding(PART, Level.OK, "None is pending.")
        return
    names = plan[0].migration if len(plan) == 1 else f"{plan[0].migration} to {plan[-1].migration}"
    yield Finding(PART, Level.OK, f"{len(plan)} pending: {names}.")
    if connection.vendor != "postgresql":
        yield _on_sqlite()
        return
    for forecast in plan:
        yield from _of_one(forecast)
    yield Finding(
        PART,
        Level.OK,
        "The other migrations block tables for a moment at most. All times are rough: expect a "
        "third to three times of them.",
    )


def _of_one(forecast: Forecast) -> Iterator[Finding]:
    for table, seconds in forecast.blocked_for.items():
        if seconds >= NOTICED_SECONDS:
            yield Finding(PART, Level.WARNING, _blocking(forecast, table, seconds))
    for table, seconds in forecast.beside.items():
        if seconds >= NOTICED_SECONDS:
            yield Finding(
                PART,
                Level.OK,
                f"{forecast.migration} reads {table} for about {_rough(seconds)}, and blocks "
                "nothing.",
            )
    for words in forecast.code:
        yield Finding(
            PART,
            Level.OK,
            f"{forecast.migration} runs code. How long it takes depends on the rows: {words}",
        )


def _blocking(forecast: Forecast, table: str, seconds: float) -> str:
    is_all = forecast.blocked[table] is Blocked.EVERYTHING
    what = "reads and writes" if is_all else "writes"
    text = f"{forecast.migration} blocks {what} of {table} for about {_rough(seconds)}."
    if seconds >= REFUSED_SECONDS:
        text += " Requests that need the table get 503 meanwhile. Choose a quiet time."
    return text


def _rough(seconds: float) -> str:
    return amount(timedelta(seconds=seconds))


def _on_sqlite() -> Finding:
    stored = size(Path(connection.settings_dict["NAME"]).stat().st_size)
    return Finding(
        PART,
        Level.OK,
        f"The database has {stored}. SQLite lets no one write while a migration runs, so stop the "
        "server first.",
    )
