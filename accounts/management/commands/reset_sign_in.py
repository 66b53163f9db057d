"""`manage.py reset_sign_in` lets the next sign-in with the provider connect a person."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management import operator


class Command(BaseCommand):
    help = (
        "Removes the password, the passkeys and the connected account of a person, and ends their "
        "sessions. Their next sign-in with the provider connects them, if the provider verified "
        "this address and its domain is one of WAKE_OIDC_DOMAINS. Verify first that the address is "
        "that person's at the provider."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = operator.reset_sign_in(options["email"])
        except operator.NoSuchPerson as error:
            raise CommandError(str(error)) from error
        self.stderr.style_func = None  # this is a note, not an error
        self.stderr.write(f"The next sign-in with the provider connects {user.email}.")
