"""`manage.py issue_key` issues a key. Only the key is on stdout, so that a script can read it."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.agents.keys import TooManyKeys
from accounts.agents.signing_secrets import SecretUnreadable
from accounts.management import operator
from accounts.models import ApiKey


class Command(BaseCommand):
    help = (
        "Issues an API key, which is shown once. Registers the agent and its team if they are new."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("agent_id", metavar="AGENT_ID")
        parser.add_argument("--team", metavar="SLUG", help="defaults to the first team")
        parser.add_argument("--test", action="store_true", help="issue a test key (wk_test_)")
        parser.add_argument(
            "--json", action="store_true", help="print the key and the signing secret as JSON"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        mode = ApiKey.Mode.TEST if options["test"] else ApiKey.Mode.LIVE
        try:
            issued = operator.issue_key(
                options["agent_id"].strip(), team_slug=options["team"], mode=mode
            )
        except ValidationError as error:
            raise CommandError(operator.in_one_sentence(error)) from error
        except (SecretUnreadable, TooManyKeys) as error:
            raise CommandError(str(error)) from error
        team = issued.agent.team
        if options["json"]:
            fields = {
                "key": issued.key,
                "signing_secret": issued.signing_secret,
                "agent_id": issued.agent.agent_id,
                "team": team.slug,
            }
            self.stdout.write(json.dumps(fields))
            return
        self.stderr.style_func = None  # these are notes, not errors
        self.stdout.write(issued.key)
        if issued.is_new_agent:
            self.stderr.write(f"{issued.agent} is new in {team} ({team.slug}).")
            self.stderr.write(f"Its callbacks are signed with {issued.signing_secret}")
        self.stderr.write("Save the key now, it is shown only once. It is the only line on stdout.")
