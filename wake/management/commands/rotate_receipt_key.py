"""`manage.py rotate_receipt_key` makes a new key pair for receipts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management.operator import OPERATOR
from database.clock import database_now
from wake.proof.receipt_keys import AlreadyCut, NoSuchReceiptKey, rotate


class Command(BaseCommand):
    help = (
        "Makes a new key pair that signs receipts, and erases the private key of the pair before "
        "it. Earlier receipts stay valid. Prints the new kid (docs/receipts.md)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--cut",
            default="",
            metavar="KID",
            help="a pair whose private key another party had; its receipts count only if the log "
            "had them before. Write --cut=KID, because a kid may begin with -",
        )

    def handle(self, *args: Any, cut: str, **options: Any) -> None:
        try:
            made = rotate(by=OPERATOR, cut=cut, at=database_now())
        except (NoSuchReceiptKey, AlreadyCut) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(made.kid)
