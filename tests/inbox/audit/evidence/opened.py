"""Makes an evidence export, and reads its files."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Any

from accounts.audit import SYSTEM, Actor
from accounts.models import Agent
from database.clock import database_now
from inbox.audit.evidence.export import EvidenceFile, export
from inbox.audit.evidence.scope import MAX_ON_PAGE, Scope


class Opened:
    """Holds the files of an export by their path."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def text(self, path: str) -> str:
        return self.files[path].decode()

    def json(self, path: str) -> Any:
        return json.loads(self.files[path])

    def rows(self, path: str) -> list[dict[str, str]]:
        return list(csv.DictReader(StringIO(self.text(path), newline="")))

    def record(self, pk: Any) -> Any:
        return self.json(f"deliveries/{pk}/record.json")

    def missing(self, pk: Any) -> dict[str, str]:
        return {part["what"]: part["why"] for part in self.record(pk)["missing"]}


def today() -> date:
    return datetime.now(UTC).date()


def files_of(
    agent: Agent, *, by: Actor = SYSTEM, limit: int = MAX_ON_PAGE
) -> Iterator[EvidenceFile]:
    """Exports yesterday, today and tomorrow, because a test may run at midnight."""
    scope = Scope(agent, today() - timedelta(days=1), today() + timedelta(days=1))
    return export(scope, by=by, limit=limit, at=database_now())


def evidence_of(agent: Agent, *, by: Actor = SYSTEM, limit: int = MAX_ON_PAGE) -> Opened:
    files = files_of(agent, by=by, limit=limit)
    return Opened({file.path: b"".join(file.parts) for file in files})
