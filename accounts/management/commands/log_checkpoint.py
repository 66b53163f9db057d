"""`manage.py log_checkpoint` prints the newest checkpoint, the verifier keys, and what could not be
sent."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.log.checkpoints import checkpoints
from accounts.models import CheckpointSending, LogCheckpoint
from database.clock import database_now

Kind = CheckpointSending.Kind


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

    def handle(self, *args: Any, now: bool, stamped: Path | None, **options: Any) -> None:
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
            _write_stamped(stamped)

    def _make(self) -> None:
        try:
            checkpoints.make(at=database_now())
        except checkpoints.LogChanged as error:
            raise CommandError(str(error)) from error


def _write_stamped(folder: Path) -> None:
    rows = CheckpointSending.objects.filter(kind=Kind.TIMESTAMP, sent_at__isnull=False)
    stamp = rows.order_by("-checkpoint").first()
    if stamp is None:
        raise CommandError("No checkpoint has a time stamp yet.")
    checkpoint = LogCheckpoint.objects.get(pk=stamp.checkpoint_id)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "checkpoint").write_bytes(checkpoint.note.encode())
        (folder / "checkpoint.tsr").write_bytes(base64.b64decode(stamp.result))
    except OSError as error:
        raise CommandError(f"{folder}: {error.strerror}.") from error
