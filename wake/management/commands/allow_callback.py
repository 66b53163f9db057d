"""`manage.py allow_callback HOST[:PORT]` adds a host to the callback hosts of a team."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management.operator import OPERATOR
from accounts.models import Team
from wake.callbacks import allowlist


class Command(BaseCommand):
    help = "Adds a host to the callback hosts of a team (docs/protocol.md, Fields)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "host",
            metavar="HOST[:PORT]",
            help="hooks.example.com, *.example.com or hooks.example.com:8443",
        )
        parser.add_argument("--team", metavar="SLUG", help="defaults to the first team")

    def handle(self, *args: Any, host: str, team: str | None, **options: Any) -> None:
        try:
            line, is_new = allowlist.allow(host, team=_team(team), by=OPERATOR)
        except allowlist.AddressRefused as reason:
            raise CommandError(str(reason)) from None
        verb = "may now" if is_new else "may already"
        self.stdout.write(f"Callbacks of {line.team.slug} {verb} go to {line.pattern}.")


def _team(slug: str | None) -> Team:
    teams = Team.objects.order_by("pk")
    team = (teams.filter(slug=slug) if slug else teams).first()
    if team is None:
        named = f"team {slug!r}" if slug else "team yet"
        raise CommandError(f"There is no {named}: manage.py issue_key creates one.")
    return team
