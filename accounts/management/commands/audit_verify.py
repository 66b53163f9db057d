"""`manage.py audit_verify`: exit code 1, and one plain sentence, where the audit was tampered
with."""

from __future__ import annotations

import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.audit import totals, verification
from accounts.audit.chain import NO_TEAM
from accounts.models import Team

HEAD = re.compile(r"\d{1,18}:[0-9a-f]{64}")


class Command(BaseCommand):
    help = "Checks that nothing in the audit was changed, removed, inserted or moved."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", metavar="SLUG", help="its chain alone; else all of them")
        parser.add_argument(
            "--no-team", action="store_true", help="the chain of what belongs to no team alone"
        )
        parser.add_argument(
            "--head",
            metavar="POSITION:HASH",
            default="",
            help="of that one chain: a head from a digest, from /audit/head.json or from here, "
            "which must be in it",
        )

        parser.add_argument(
            "--count-again",
            action="store_true",
            help="after a repair by hand: signs the number of chains and events that there are now",
        )

    def handle(
        self, *args: Any, team: str | None, no_team: bool, head: str, **options: Any
    ) -> None:
        if team is not None and no_team:
            raise CommandError("--team and --no-team name one chain each: ask for one of them.")
        if head and not ((team or no_team) and HEAD.fullmatch(head)):
            raise CommandError(
                "--head is POSITION:HASH as a digest says it, and needs --team or --no-team."
            )
        names = {pk: name for pk, slug, name in _teams() if not no_team and team in {None, slug}}
        if team is not None and not names:
            raise CommandError(f"There is no team {team!r}.")
        chains = list(names)
        if team is None:
            names[NO_TEAM] = "No team"
            chains = [NO_TEAM] if no_team else verification.chains()
        for chain in chains:
            name = names.get(chain, f"Team {chain}, which was removed")
            try:
                whole = verification.verify(chain, noted=head)
            except verification.Broken as broken:
                raise CommandError(f"{name}: the audit was tampered with. {broken}") from broken
            self.stdout.write(f"{name}: {_told(whole)}")
        if options["count_again"]:
            totals.count_again()
        if difference := totals.difference():
            raise CommandError(f"All teams: the audit was tampered with. {difference}")


def _teams() -> list[tuple[int, str, str]]:
    return list(Team.objects.order_by("pk").values_list("pk", "slug", "name"))


def _told(whole: verification.Whole) -> str:
    waiting = f" {whole.waiting} wait for their seal." if whole.waiting else ""
    if not whole.position:
        return f"nothing is sealed yet.{waiting}"
    return f"{whole.position} events, unbroken, up to {whole.tip}.{waiting}"
