"""`manage.py publish_agent AGENT_ID` makes an agent reachable over A2A."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts import operator
from database.clock import database_now
from relay.cards import cards, publishing
from relay.models import Card


class Command(BaseCommand):
    help = (
        "Makes an agent reachable over A2A, and registers it (and the team) if new. "
        "Of an agent that is published already, it changes what is named here."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("agent_id", metavar="AGENT_ID")
        parser.add_argument("--team", metavar="SLUG", help="defaults to the first team")
        parser.add_argument("--description", metavar="TEXT", help="what it does, for everybody")
        parser.add_argument(
            "--public",
            action="store_true",
            help="anyone can call it without a key; their requests run on its machine",
        )
        parser.add_argument(
            "--input-mode",
            metavar="MODE",
            action="append",
            help="a media type that it takes, text/plain or */*; may be given again",
        )
        parser.add_argument(
            "--reply-policy",
            choices=Card.ReplyPolicy.values,
            help="who answers its questions; a caller's reply is never an approval",
        )
        parser.add_argument("--card-profile", choices=Card.Profile.values)
        parser.add_argument(
            "--root", action="store_true", help="show its card at the host's root, too"
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        at = database_now()
        try:
            agent, is_new = operator.agent_called(
                options["agent_id"].strip(), team_slug=options["team"]
            )
            card = publishing.publish(agent, by=operator.OPERATOR, at=at, **_fields(options))
        except ValidationError as error:
            raise CommandError(operator.in_one_sentence(error)) from error
        except publishing.DoesNotFit as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Card:     {cards.address_of(card)}{cards.PATH}")
        self.stdout.write(f"Endpoint: {cards.base_url_of(card)}")
        if is_new:
            self.stdout.write(f"{agent} is new in {agent.team} ({agent.team.slug}).")
        if card.access != Card.Access.PUBLIC:
            self.stdout.write("Callers need a key: manage.py issue_caller_key NAME")


def _fields(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of the card that were named."""
    fields = {
        "description": options["description"],
        "input_modes": options["input_mode"],
        "reply_policy": options["reply_policy"],
        "profile": options["card_profile"],
        "access": Card.Access.PUBLIC.value if options["public"] else None,
        "is_root": options["root"] or None,
    }
    return {name: value for name, value in fields.items() if value is not None}
