"""`manage.py remove_second_factor` helps a person who lost their authenticator, their passkeys and
their recovery codes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management import operator


class Command(BaseCommand):
    help = (
        "Turns off two-step sign-in for a person, removes their passkeys and ends their "
        "sessions. Verify first that the "
        "request really comes from that person."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = operator.remove_second_factor(options["email"])
        except operator.NoSecondFactor as error:
            raise CommandError(str(error)) from error
        self.stderr.style_func = None  # this is a note, not an error
        self.stderr.write(f"{user.email} now signs in with the password only.")
