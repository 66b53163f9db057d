"""`manage.py issue_gate` issues a gate key, and prints only the key to stdout, so that a script
can read it."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.agents.gates import TooManyGates
from accounts.management import operator


class Command(BaseCommand):
    help = "Issues a gate key, with which a service claims approvals (docs/gates.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the service, such as Refunds")
        parser.add_argument(
            "--agent", action="append", required=True, metavar="AGENT_ID", help="may be repeated"
        )
        parser.add_argument("--team", metavar="SLUG", help="defaults to the first team")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            text = operator.issue_gate(
                options["name"].strip(), agent_ids=options["agent"], team_slug=options["team"]
            )
        except ValidationError as error:
            raise CommandError(operator.in_one_sentence(error)) from error
        except (TooManyGates, operator.NoSuchAgent) as error:
            raise CommandError(str(error)) from error
        self.stderr.style_func = None  # this is a note, not an error
        self.stdout.write(text)
        self.stderr.write("Save the key now, it is shown only once. It is the only line on stdout.")
