"""`manage.py log_checkpoint` prints the newest checkpoint, the verifier keys, and what could not be
sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.log.checkpoints import checkpoints, stamps
from accounts.models import CheckpointSending
from database.clock import database_now


class Command(BaseCommand):
    help = (
        "Prints the verifier keys of the log, its newest checkpoint, and the checkpoints that wait "
        "to be sent (docs/log.md)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--now", action="store_true", help="make a checkpoint first, if the log grew"
        )
        parser.add_argument(
            "--stamped",
            type=Path,
            metavar="FOLDER",
            help="write the newest checkpoint that has a time stamp into this folder, with its "
            "stamp: checkpoint and checkpoint.tsr",
        )
        parser.add_argument(
            "--size",
            type=int,
            metavar="ENTRIES",
            help="with --stamped: the checkpoint of this size, as a proof names it",
        )

    def handle(
        self, *args: Any, now: bool, stamped: Path | None, size: int | None, **options: Any
    ) -> None:
        if now:
            self._make()
        newest = checkpoints.newest()
        for key in checkpoints.verifier_keys():
            self.stdout.write(f"Verifier key: {key}")
        if newest is None:
            raise CommandError("The log has no checkpoint yet.")
        self.stdout.write(f"\n{checkpoints.cosigned_note(newest)}")
        waiting = CheckpointSending.objects.filter(sent_at__isnull=True).exclude(error="")
        for sending in waiting.order_by("-pk")[:20]:
            self.stdout.write(f"{sending}: {sending.attempts} attempts. {sending.error}")
        if stamped:
            _write_stamped(stamped, size)

    def _make(self) -> None:
        try:
            checkpoints.make(at=database_now())
        except checkpoints.LogChanged as error:
            raise CommandError(str(error)) from error


def _write_stamped(folder: Path, size: int | None) -> None:
    stamped = stamps.newest() if size is None else next(stamps.of_sizes([size]), None)
    if stamped is None:
        which = "No checkpoint" if size is None else f"No checkpoint of {size} entries"
        raise CommandError(f"{which} has a time stamp yet.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "checkpoint").write_bytes(stamped.note)
        (folder / "checkpoint.tsr").write_bytes(stamped.response)
    except OSError as error:
        raise CommandError(f"{folder}: {error.strerror}.") from error
