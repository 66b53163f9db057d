"""The audit as a file: CSV for a spreadsheet, JSON Lines for a program; written row by row."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any

from accounts.models import AuditEvent, AuditSeal
from inbox.audit_words import words

COLUMNS = [
    "id",
    "at",
    "team",
    "event",
    "words",
    "actor_kind",
    "actor_id",
    "actor_name",
    "object_kind",
    "object_id",
    "object_name",
    "address",
    "detail",
    "position",
    "hash",
]
# What a spreadsheet takes for a formula, or for what comes before one.
BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r")


Record = dict[str, Any]


def csv_lines(chunks: Iterable[list[AuditEvent]], teams: dict[int, str]) -> Iterator[str]:
    yield _csv([COLUMNS])
    for events in chunks:
        yield _csv(_cells(record) for record in _records(events, teams))


def json_lines(chunks: Iterable[list[AuditEvent]], teams: dict[int, str]) -> Iterator[str]:
    for events in chunks:
        yield "".join(
            json.dumps(record, ensure_ascii=False) + "\n" for record in _records(events, teams)
        )


def _records(events: list[AuditEvent], teams: dict[int, str]) -> Iterator[Record]:
    """In the order of COLUMNS, with the seal of each where it has one; one query."""
    seals = AuditSeal.objects.in_bulk([event.pk for event in events], field_name="event_id")
    for event in events:
        seal = seals.get(event.pk)
        facts = {
            "at": event.at.isoformat(),
            "team": teams.get(event.team_id or 0, ""),
            "words": words(event),
            "position": seal.position if seal else None,
            "hash": seal.hash if seal else None,
        }
        yield {name: facts[name] if name in facts else getattr(event, name) for name in COLUMNS}


def _cells(record: Record) -> list[str]:
    detail = json.dumps(record["detail"], ensure_ascii=False)
    values = {**record, "detail": detail}.values()
    return ["" if value is None else cell(str(value)) for value in values]


def cell(text: str) -> str:
    """Never a formula: what agents call their deliveries reaches whoever opens the file."""
    return f"'{text}" if text.startswith(BEGINS_FORMULA) else text


def _csv(rows: Iterable[list[str]]) -> str:
    written = StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()
