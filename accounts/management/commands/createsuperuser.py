"""`manage.py createsuperuser` replaces Django's command, which records nothing in the audit."""

from __future__ import annotations

import os
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management import operator


class Command(BaseCommand):
    help = (
        "Adds a person who may do everything in /admin/ and is in no team. Set WAKE_PASSWORD to "
        "choose the password; otherwise one is generated and printed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")

    def handle(self, *args: Any, **options: Any) -> None:
        given = os.environ.get("WAKE_PASSWORD", "")
        password = given or operator.new_password()
        try:
            user = operator.add_superuser(options["email"], password=password)
        except ValidationError as error:
            raise CommandError(operator.in_one_sentence(error)) from error
        self.stderr.style_func = None  # these are notes, not errors
        self.stderr.write(f"{user.email} may do everything in /admin/.")
        if not given:
            self.stdout.write(password)
            self.stderr.write(
                "Save the password now, it is shown only once. It is the only line on stdout."
            )
