"""`manage.py backup FOLDER` copies the database and writes a manifest. With `--record`, it records
that another program has made a backup."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from wake.management import backups
from wake.management.backups import BackupFailed, NotYet, back_up, contents, text_of


class Command(BaseCommand):
    help = (
        "Copies the database into a new folder that only you can read, while Wake runs "
        "(docs/operations.md, Back up and restore). Encryption keys are not in the copy."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "folder",
            type=Path,
            metavar="FOLDER",
            nargs="?",
            help="a folder that does not exist yet",
        )
        parser.add_argument(
            "--manifest",
            action="store_true",
            help="only print the manifest, for a copy that you make afterwards by other means",
        )
        parser.add_argument(
            "--record",
            metavar="PROGRAM",
            help="only record that this program has made a backup, such as pgBackRest",
        )
        parser.add_argument(
            "--at",
            type=_time,
            metavar="TIME",
            help="with --record: when that backup was finished (ISO 8601), if it was not now",
        )

    def handle(
        self,
        *args: Any,
        folder: Path | None,
        manifest: bool,
        record: str | None,
        at: datetime | None,
        **options: Any,
    ) -> None:
        if [folder is not None, manifest, bool(record)].count(True) != 1:
            raise CommandError("Name a new folder, or use --manifest or --record.")
        if at is not None and not record:
            raise CommandError("--at belongs to --record.")
        if record:
            self._record(record, at)
        else:
            self._back_up(folder)

    def _record(self, program: str, at: datetime | None) -> None:
        try:
            backups.record(program, finished_at=at)
        except NotYet as reason:
            raise CommandError(f"Nothing was recorded. {reason}") from None

    def _back_up(self, folder: Path | None) -> None:
        try:
            if folder is None:
                self.stdout.write(text_of(contents()), ending="")
                return
            copied = back_up(folder)
        except BackupFailed as reason:
            raise CommandError(f"There is no backup. {reason}") from None
        self.stdout.write(str(folder / copied["file"]))


def _time(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is not a time like 2026-11-27T09:30:00Z.") from None
    if at.tzinfo is None:
        raise ArgumentTypeError(f"{text} has no time zone. Add Z for UTC.")
    return at
