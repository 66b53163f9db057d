"""`manage.py changepassword` replaces Django's command, which records nothing in the audit."""

from __future__ import annotations

import os
from getpass import getpass
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management import operator


class Command(BaseCommand):
    help = (
        "Changes a person's password to WAKE_PASSWORD, or asks for the new one, and ends their "
        "sessions."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")

    def handle(self, *args: Any, **options: Any) -> None:
        password = os.environ.get("WAKE_PASSWORD", "") or _ask_for_password()
        try:
            user = operator.change_password(options["email"], password)
        except operator.NoSuchPerson as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            raise CommandError(operator.in_one_sentence(error)) from error
        self.stderr.style_func = None  # this is a note, not an error
        self.stderr.write(f"{user.email} has a new password and is signed out everywhere.")


def _ask_for_password() -> str:
    password = getpass("New password: ")
    if getpass("New password again: ") != password:
        raise CommandError("The passwords do not match. Nothing was changed.")
    return password
