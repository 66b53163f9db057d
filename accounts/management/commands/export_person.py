"""`manage.py export_person` writes the stored data about a person to a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management import operator
from accounts.people.data.export import export
from database.clock import database_now


class Command(BaseCommand):
    help = (
        "Writes everything that is stored about a person to a new JSON file, without passwords, "
        "keys and tokens (docs/privacy.md)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("file", metavar="FILE", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            user = operator.person_with(options["email"])
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except (operator.NoSuchPerson, OSError) as error:
            raise CommandError(str(error)) from error
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            for part in export(user, here=SessionBase(), by=operator.OPERATOR, at=database_now()):
                file.write(part)
        self.stderr.style_func = None  # this is a note, not an error
        self.stderr.write(f"Wrote what is stored about {user.email} to {path}.")
