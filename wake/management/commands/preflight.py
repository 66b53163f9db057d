"""`manage.py preflight` says whether an upgrade can begin, and what people would notice of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from wake.management import backups
from wake.management.preflight import configuration, migrations, roles, room, versions
from wake.management.preflight.findings import Finding, Level
from wake.management.preflight.forecasts import Forecast


class Command(BaseCommand):
    help = (
        "Looks before an upgrade at the settings, the versions and roles of the database, the "
        "pending migrations, the disk and the last backup, and changes nothing. Run it from the "
        "new version, with the environment of `migrate` (docs/operations.md, Upgrade). The exit "
        "code is 1 if there is a problem."
    )
    requires_system_checks = ()  # they are among the findings

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--backup", type=Path, metavar="FOLDER", help="the last backup, or the folder of all"
        )
        parser.add_argument("--json", action="store_true", help="print the findings as JSON")

    def handle(self, *args: Any, backup: Path | None, **options: Any) -> None:
        database = versions.database()
        plan = migrations.pending() if database.level is Level.OK else []
        findings = list(_findings(database, plan, backup))
        problems = [finding for finding in findings if finding.level is Level.PROBLEM]
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(findings, plan), indent=2))
        else:
            for finding in findings:
                self.stdout.write(f"{finding.level:<8} {finding.part:<11} {finding.text}")
        if problems:
            raise CommandError(f"Not ready for the upgrade. Problems: {len(problems)}.")


def _findings(
    database: Finding, plan: Sequence[Forecast], backup: Path | None
) -> Iterator[Finding]:
    yield from configuration.findings()
    yield database
    yield from versions.pooler()
    yield from versions.redis()
    yield from versions.rabbitmq()
    if database.level is not Level.OK:
        return
    yield from roles.findings()
    yield from migrations.findings(plan)
    yield from room.disk(plan)
    yield from room.last_backup(backup)


def _as_json(findings: Sequence[Finding], plan: Sequence[Forecast]) -> dict[str, Any]:
    """Times are seconds, and sizes are bytes."""
    return {
        "version": backups.wake_version(),
        "ready": all(finding.level is not Level.PROBLEM for finding in findings),
        "findings": [asdict(finding) for finding in findings],
        "migrations": [
            {
                "name": each.migration,
                "blocked": {
                    table: {
                        "what": each.blocked[table].name.lower(),
                        "seconds": round(seconds, 3),
                    }
                    for table, seconds in each.blocked_for.items()
                },
                "read_beside": {table: round(seconds, 3) for table, seconds in each.beside.items()},
                "new_bytes": each.new_bytes,
                "code": each.code,
            }
            for each in plan
        ],
    }
