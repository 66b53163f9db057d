"""`manage.py audit_verify` checks the audit chains. If the audit was tampered with, it prints one
sentence and exits with 1."""

from __future__ import annotations

import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.audit import totals, verification
from accounts.audit.chain import NO_TEAM
from accounts.models import Team

TIP = re.compile(r"\d{1,18}:[0-9a-f]{64}")


class Command(BaseCommand):
    help = "Checks that nothing in the audit was changed, removed, inserted or moved."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", metavar="SLUG", help="check the chain of this team only")
        parser.add_argument(
            "--no-team", action="store_true", help="check only the chain of events without a team"
        )
        parser.add_argument(
            "--head",
            dest="tip",
            metavar="POSITION:HASH",
            default="",
            help="a tip that you noted earlier (from a digest, /audit/head.json or this command) "
            "and that must still be part of the chain; needs --team or --no-team",
        )
        parser.add_argument(
            "--count-again",
            action="store_true",
            help="after a repair by hand: count the chains and events again and sign the totals",
        )

    def handle(self, *args: Any, team: str | None, no_team: bool, tip: str, **options: Any) -> None:
        if team is not None and no_team:
            raise CommandError("--team and --no-team cannot be used together.")
        if tip and not ((team or no_team) and TIP.fullmatch(tip)):
            raise CommandError(
                "--head takes POSITION:HASH, as a digest shows it, and needs --team or --no-team."
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
                verified = verification.verify(chain, noted=tip)
            except verification.Broken as broken:
                raise CommandError(f"{name}: the audit was tampered with. {broken}") from broken
            self.stdout.write(f"{name}: {_summary(verified)}")
        if options["count_again"]:
            totals.count_again()
        if difference := totals.difference():
            raise CommandError(f"All teams: the audit was tampered with. {difference}")


def _teams() -> list[tuple[int, str, str]]:
    return list(Team.objects.order_by("pk").values_list("pk", "slug", "name"))


def _summary(verified: verification.Verified) -> str:
    waiting = f" {verified.waiting} wait for their entry." if verified.waiting else ""
    if not verified.position:
        return f"the chain has no entries yet.{waiting}"
    return f"{verified.position} events, unbroken, up to {verified.tip}.{waiting}"
