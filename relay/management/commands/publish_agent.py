"""`manage.py publish_agent AGENT_ID` makes an agent reachable over A2A."""

from __future__ import annotations

import json
from argparse import BooleanOptionalAction
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.management import operator
from database.clock import database_now
from relay.cards import cards, publishing
from relay.cards.skills import read_skills
from relay.models import Card
from relay.models.cards import LONGEST_RUN, MAX_CONCURRENCY


class Command(BaseCommand):
    help = (
        "Makes an agent reachable over A2A, and registers it and its team if they are new. "
        "If the agent is already published, changes only the given options."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("agent_id", metavar="AGENT_ID")
        parser.add_argument("--team", metavar="SLUG", help="defaults to the first team")
        parser.add_argument(
            "--description", metavar="TEXT", help="what the agent does, shown on its public card"
        )
        parser.add_argument(
            "--public",
            action=BooleanOptionalAction,
            help="let anyone call it without a key; their requests run on its machine "
            "(--no-public: callers need a key again)",
        )
        parser.add_argument(
            "--input-mode",
            metavar="MODE",
            action="append",
            help="a media type that it accepts, such as text/plain or */*; can be repeated",
        )
        parser.add_argument(
            "--output-mode",
            metavar="MODE",
            action="append",
            help="a media type that it returns; can be repeated",
        )
        parser.add_argument(
            "--skills",
            metavar="FILE",
            type=Path,
            help='a JSON array of {"id", "name", "description", "tags", "examples"}',
        )
        parser.add_argument(
            "--timeout", metavar="SECONDS", type=int, help="the time limit of one run"
        )
        parser.add_argument(
            "--max-concurrency",
            metavar="RUNS",
            type=int,
            help="how many runs may execute at the same time, on all machines together "
            "(a new agent: 4)",
        )
        parser.add_argument(
            "--reply-policy",
            choices=Card.ReplyPolicy.values,
            help="who answers its questions; a caller's reply is never an approval",
        )
        parser.add_argument("--card-profile", choices=Card.Profile.values)
        parser.add_argument(
            "--root",
            action=BooleanOptionalAction,
            help="show its card at the root of the host, too; only one agent can be there",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        at = database_now()
        fields, earlier_root = _fields(options), Card.objects.filter(is_root=True).first()
        try:
            with transaction.atomic():  # the transaction commits before the addresses are printed
                agent, is_new = operator.get_or_register_agent(
                    options["agent_id"].strip(), team_slug=options["team"]
                )
                cards_of_agent = Card.objects.filter(agent=agent)
                if options["public"] is False and cards_of_agent.filter(access="public"):
                    fields["access"] = Card.Access.KEY.value
                card = publishing.publish(agent, by=operator.OPERATOR, at=at, **fields)
        except ValidationError as error:
            raise CommandError(operator.in_one_sentence(error)) from error
        except publishing.DoesNotFit as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Card:     {cards.address_of(card)}{cards.PATH}")
        self.stdout.write(f"Endpoint: {cards.base_url_of(card)}")
        if is_new:
            self.stdout.write(f"{agent} is new in {agent.team} ({agent.team.slug}).")
        if card.is_root and earlier_root and earlier_root != card:
            self.stdout.write(f"Its card replaces that of {earlier_root} at the host's root.")
        if card.access != Card.Access.PUBLIC:
            self.stdout.write("Callers need a key: manage.py issue_caller_key NAME")


def _fields(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of the card for the given options. Raises CommandError."""
    fields = {
        "description": options["description"],
        "input_modes": options["input_mode"],
        "output_modes": options["output_mode"],
        "skills": _skills(options["skills"]) if options["skills"] else None,
        "timeout_seconds": _within("--timeout", options["timeout"], LONGEST_RUN),
        "max_concurrency": _within(
            "--max-concurrency", options["max_concurrency"], MAX_CONCURRENCY
        ),
        "reply_policy": options["reply_policy"],
        "profile": options["card_profile"],
        "access": Card.Access.PUBLIC.value if options["public"] else None,
        "is_root": options["root"],
    }
    return {name: value for name, value in fields.items() if value is not None}


def _skills(file: Path) -> list[dict[str, Any]]:
    try:
        skills = json.loads(file.read_bytes())
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CommandError(f"{file} is not JSON: {error}.") from error
    try:
        return read_skills(skills)
    except ValidationError as error:
        raise CommandError(f"{file}: {operator.in_one_sentence(error)}") from error


def _within(option: str, value: int | None, most: int) -> int | None:
    if value is not None and not 1 <= value <= most:
        raise CommandError(f"{option} must be from 1 to {most}.")
    return value
