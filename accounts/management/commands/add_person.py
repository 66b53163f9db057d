"""`manage.py add_person` adds a person to a team. Only a generated password is on stdout."""

from __future__ import annotations

import os
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management import operator
from accounts.models import Membership


class Command(BaseCommand):
    help = (
        "Adds a person to a team, which is created if it is new. Set WAKE_PASSWORD to choose the "
        "password; otherwise one is generated and printed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("--team", metavar="SLUG", help="defaults to the first team")
        parser.add_argument(
            "--role", choices=Membership.Role.values, default=Membership.Role.REVIEWER
        )

    def handle(self, *args: Any, **options: Any) -> None:
        given = os.environ.get("WAKE_PASSWORD", "")
        password = given or operator.new_password()
        try:
            membership, is_new = operator.add_person(
                options["email"], team_slug=options["team"], role=options["role"], password=password
            )
        except ValidationError as error:
            raise CommandError(operator.in_one_sentence(error)) from error
        except operator.HasAnotherRole as error:
            raise CommandError(str(error)) from error
        self.stderr.style_func = None  # these are notes, not errors
        team = membership.team
        self.stderr.write(f"{membership.user.email} is {membership.role} of {team} ({team.slug}).")
        if not is_new:
            self.stderr.write("The account already existed, and its password is unchanged.")
        elif not given:
            self.stdout.write(password)
            self.stderr.write(
                "Save the password now, it is shown only once. It is the only line on stdout."
            )
