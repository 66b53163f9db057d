"""`manage.py rotate_encryption` encrypts everything again with the newest key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.audit import totals
from accounts.log import signed_tree
from wake.management.reencryption import StillEncrypting, reencrypt


class Command(BaseCommand):
    help = (
        "Encrypts signing secrets and content again with the first of WAKE_ENCRYPTION_KEYS, and "
        "with WAKE_ENCRYPT_CONTENT=1 also the content that was stored before. You can run it while "
        "the server runs, stop it, and run it again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--decrypt",
            action="store_true",
            help="store content unencrypted again, once WAKE_ENCRYPT_CONTENT is off",
        )

    def handle(self, *args: Any, decrypt: bool, **options: Any) -> None:
        unreadable = 0
        try:
            for done in reencrypt(decrypt=decrypt):
                unreadable += done.unreadable
                self.stdout.write(
                    f"{done.name}: {done.read} read, {done.written} rewritten, "
                    f"{done.unreadable} unreadable"
                )
        except StillEncrypting as reason:
            raise CommandError(str(reason)) from None
        if unreadable:
            raise CommandError(
                f"{unreadable} rows cannot be read with any of WAKE_ENCRYPTION_KEYS and were left "
                "unchanged. Add the key that they were stored with, and run this again."
            )
        totals.sign_with_newest_key()
        signed_tree.sign_with_newest_key()
        self.stdout.write("Done. The older keys are no longer needed for this database.")
