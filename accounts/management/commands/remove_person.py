"""`manage.py remove_person` removes a person's account."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management import operator
from accounts.people import leaving
from accounts.people.data import removal
from database.clock import database_now


class Command(BaseCommand):
    help = (
        "Removes a person's account: their address, sign-in, sessions, memberships, channels, "
        "drafts and settings. Answers, votes and comments stay, under a number instead of the "
        "name. The audit keeps the name (docs/privacy.md). Only a backup brings the account back."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("--yes", action="store_true", help="removes it without a question")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = operator.person_with(options["email"])
            if not options["yes"] and input(f"Remove {user.email}? This is final. [y/N] ") != "y":
                raise CommandError("Nothing was removed.")
            name = removal.remove(user, by=operator.OPERATOR, at=database_now())
        except (operator.NoSuchPerson, leaving.OwnsAlone) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Removed. Their answers are by {name} now.")
