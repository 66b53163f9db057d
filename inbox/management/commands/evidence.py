"""`manage.py evidence` writes the evidence of one agent to a new folder."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management.operator import OPERATOR
from accounts.models import Agent
from database.clock import database_now
from inbox.audit.evidence.export import EvidenceFile, export
from inbox.audit.evidence.scope import MAX_OF_COMMAND, Scope, TooManyDeliveries


class Command(BaseCommand):
    help = (
        "Writes what an auditor needs about one agent to a new folder: deliveries, answers, "
        "claims, outcomes, receipts, roles and rules (docs/evidence.md). Days are in UTC."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="FOLDER", type=Path)
        parser.add_argument("--team", metavar="SLUG", required=True)
        parser.add_argument("--agent", metavar="AGENT_ID", required=True)
        parser.add_argument("--from", dest="first", metavar="DATE", type=_day, required=True)
        parser.add_argument("--to", dest="last", metavar="DATE", type=_day, required=True)

    def handle(
        self,
        *args: Any,
        folder: Path,
        team: str,
        agent: str,
        first: date,
        last: date,
        **options: Any,
    ) -> None:
        found = Agent.objects.select_related("team").filter(team__slug=team, agent_id=agent).first()
        if found is None:
            raise CommandError(
                f"There is no agent {agent!r} in a team {team!r}. Check the ids in /admin/."
            )
        if last < first:
            raise CommandError("--to is before --from.")
        now = database_now()
        try:
            folder.mkdir(mode=0o700)
            files = export(Scope(found, first, last), by=OPERATOR, limit=MAX_OF_COMMAND, at=now)
            count = sum(_write(folder, file) for file in files)
        except (OSError, TooManyDeliveries) as reason:
            raise CommandError(str(reason)) from reason
        self.stderr.style_func = None  # this is a note, not an error
        self.stderr.write(f"Wrote {count:,} files to {folder}. manifest.json lists them.")


def _write(folder: Path, file: EvidenceFile) -> int:
    path = folder / file.path
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        for part in file.parts:
            opened.write(part)
    return 1


def _day(text: str) -> date:
    day = date.fromisoformat(text)
    if not date(1971, 1, 1) <= day < date(9000, 1, 1):
        raise ValueError
    return day
