"""`manage.py unpublish_agent AGENT_ID` makes an agent unreachable over A2A."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management import operator
from accounts.models import Team
from database.clock import database_now
from relay.cards import publishing
from relay.models import Card


class Command(BaseCommand):
    help = "Makes an agent unreachable over A2A. Its tasks, its card and its callers' keys stay."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("agent_id", metavar="AGENT_ID")
        parser.add_argument("--team", metavar="SLUG", help="defaults to the first team")

    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["team"]
        team = (Team.objects.filter(slug=slug) if slug else Team.objects.order_by("pk")).first()
        card = Card.objects.at(team.slug, options["agent_id"]).first() if team else None
        if card is None:
            raise CommandError(f"{options['agent_id']} is not published.")
        publishing.unpublish(card, by=operator.OPERATOR, at=database_now())
        self.stdout.write(f"{card} is not published any more.")
