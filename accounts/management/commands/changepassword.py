"""`manage.py changepassword`: in the place of Django's, which leaves no trace in the audit."""

from __future__ import annotations

import os
from getpass import getpass
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import operator


class Command(BaseCommand):
    help = (
        "Gives a person another password, WAKE_PASSWORD or one that is asked for, and ends their "
        "sessions."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")

    def handle(self, *args: Any, **options: Any) -> None:
        password = os.environ.get("WAKE_PASSWORD", "") or _asked_for()
        try:
            user = operator.change_password(options["email"], password)
        except operator.NoSuchPerson as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            raise CommandError(operator.in_one_sentence(error)) from error
        self.stderr.style_func = None  # this is a note, not an error
        self.stderr.write(f"{user.email} has another password, and is signed out everywhere.")


def _asked_for() -> str:
    password = getpass("New password: ")
    if getpass("New password again: ") != password:
        raise CommandError("The passwords do not match. Nothing was changed.")
    return password
