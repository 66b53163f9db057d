"""Exports the audit row by row: CSV for a spreadsheet, JSON Lines for a program."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any

from accounts.log.entries import base64url
from accounts.models import AuditEvent
from database.postgresql.replica import Read
from inbox.audit.log_places import places
from inbox.audit.sentences import full_sentence

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
    "log_index",
    "log_salt",
]
# A spreadsheet reads a text that begins with one of these characters as a formula.
BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r")


ExportRow = dict[str, Any]


def csv_lines(
    chunks: Iterable[list[AuditEvent]], teams: dict[int, str], *, read: Read
) -> Iterator[str]:
    yield _csv([COLUMNS])
    for events in chunks:
        yield _csv(_cells(row) for row in _rows(events, teams, read))


def json_lines(
    chunks: Iterable[list[AuditEvent]], teams: dict[int, str], *, read: Read
) -> Iterator[str]:
    for events in chunks:
        rows = _rows(events, teams, read)
        yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _rows(events: list[AuditEvent], teams: dict[int, str], read: Read) -> Iterator[ExportRow]:
    """Yields rows with the names of COLUMNS. With the place in the log and its salt, the owner can
    compute the leaf hash again. Makes two queries for each chunk."""
    found = read(lambda: places([event.pk for event in events]))
    for event in events:
        place = found.get(event.pk)
        derived = {
            "at": event.at.isoformat(),
            "team": teams.get(event.team_id or 0, ""),
            "words": full_sentence(event),
            "position": place.number if place else None,
            "hash": place.hash if place else None,
            "log_index": place.index if place else None,
            "log_salt": base64url(place.salt) if place and place.salt else None,
        }
        yield {name: derived[name] if name in derived else getattr(event, name) for name in COLUMNS}


def _cells(row: ExportRow) -> list[str]:
    detail = json.dumps(row["detail"], ensure_ascii=False)
    values = {**row, "detail": detail}.values()
    return ["" if value is None else cell(str(value)) for value in values]


def cell(text: str) -> str:
    """Returns the text in a form that no spreadsheet reads as a formula. Agents choose the names in
    this file."""
    return f"'{text}" if text.startswith(BEGINS_FORMULA) else text


def _csv(rows: Iterable[list[str]]) -> str:
    buffer = StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue()
