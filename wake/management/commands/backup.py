"""`manage.py backup FOLDER` copies the database and writes a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from wake.management.backups import BackupFailed, back_up, contents, text_of


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

    def handle(self, *args: Any, folder: Path | None, manifest: bool, **options: Any) -> None:
        if manifest == (folder is not None):
            raise CommandError("Name a new folder, or use --manifest.")
        try:
            if folder is None:
                self.stdout.write(text_of(contents()), ending="")
                return
            copied = back_up(folder)
        except BackupFailed as reason:
            raise CommandError(f"There is no backup. {reason}") from None
        self.stdout.write(str(folder / copied["file"]))
