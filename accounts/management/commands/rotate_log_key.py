"""`manage.py rotate_log_key` makes a new key pair for checkpoints, and prints its verifier key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from accounts.log.checkpoints import checkpoints
from accounts.management.operator import OPERATOR
from database.clock import database_now


class Command(BaseCommand):
    help = (
        "Makes a new key pair that signs checkpoints, and erases the private key of the pair "
        "before it. Earlier checkpoints stay valid. Prints the new verifier key (docs/log.md)."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        made = checkpoints.rotate_key(by=OPERATOR, at=database_now())
        self.stdout.write(str(checkpoints.verifier_key(made)))
