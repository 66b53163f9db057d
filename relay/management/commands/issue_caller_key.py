"""`manage.py issue_caller_key NAME` issues a caller key. Only the key is on stdout, so that a
script can read it."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.management import operator
from accounts.models import Team
from database.clock import database_now
from relay.cards import callers, publishing
from relay.models import Card


class Command(BaseCommand):
    help = "Issues a key with which a caller can call a team's agents over A2A. It is shown once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "name", metavar="NAME", help="name of the caller, shown with their tasks"
        )
        parser.add_argument("--team", metavar="SLUG", help="defaults to the first team")
        parser.add_argument(
            "--agent",
            metavar="AGENT_ID",
            action="append",
            default=[],
            help="allow the key to call this agent; can be repeated",
        )
        parser.add_argument("--json", action="store_true", help="print the key and its ID as JSON")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        team, at = _team(options["team"]), database_now()
        cards = [_card(team, agent_id) for agent_id in options["agent"]]
        try:
            key, text = callers.mint(team, name=options["name"].strip(), by=operator.OPERATOR)
        except ValidationError as error:
            raise CommandError(operator.in_one_sentence(error)) from error
        for card in cards:
            publishing.allow_caller(key, card.agent, by=operator.OPERATOR, at=at)
        if options["json"]:
            output = {"key": text, "id": str(key.pk), "name": key.name, "team": team.slug}
            self.stdout.write(json.dumps(output))
            return
        self.stderr.style_func = None  # these are notes, not errors
        self.stdout.write(text)
        for card in (card for card in cards if card.access != Card.Access.ALLOWLIST):
            self.stderr.write(f"{card} accepts other callers, too: {card.get_access_display()}.")
        self.stderr.write("Save the key now, it is shown only once. It is the only line on stdout.")


def _team(slug: str | None) -> Team:
    teams = Team.objects.order_by("pk")
    team = (teams.filter(slug=slug) if slug else teams).first()
    if team is None:
        missing = f"team {slug!r}" if slug else "team yet"
        raise CommandError(f"There is no {missing}: manage.py publish_agent creates one.")
    return team


def _card(team: Team, agent_id: str) -> Card:
    card = Card.objects.at(team.slug, agent_id).first()
    if card is None:
        raise CommandError(f"{agent_id} is not published: manage.py publish_agent {agent_id}")
    return card
