"""`manage.py audit_verify` checks the audit chains. If the audit was tampered with, or has no
chain, it says so and exits with 1."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.audit import noted_tips, totals, verification
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
        parser.add_argument(
            "--manifest",
            type=Path,
            metavar="FILE",
            help="the manifest of a backup: every chain that it names must still be there, at "
            "least as long as then",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        team, no_team, tip = options["team"], options["no_team"], options["tip"]
        _refuse_contradictions(team, no_team=no_team, tip=tip, manifest=options["manifest"])
        names = {pk: name for pk, slug, name in _teams() if not no_team and team in {None, slug}}
        if team is not None and not names:
            raise CommandError(f"There is no team {team!r}.")
        chains = list(names)
        if team is None:
            names[NO_TEAM] = "No team"
            chains = [NO_TEAM] if no_team else verification.chains()
        noted = dict.fromkeys(chains, tip)
        if options["manifest"]:
            for chain, (name, earlier) in _read(options["manifest"]).items():
                noted[chain] = earlier
                names.setdefault(chain, f"{name or f'Team {chain}'}, which was removed")
        for chain in sorted(noted):
            self._verify(chain, names.get(chain, f"Team {chain}, which was removed"), noted[chain])
        if options["count_again"]:
            totals.count_again()
        for chain in totals.forged_tips():
            name = names.get(chain, f"Chain {chain}")
            raise CommandError(
                f"{name}: the audit was tampered with. Wake did not sign the tip of this chain."
            )
        if problem := totals.problem():
            raise CommandError(f"All teams: the audit was tampered with. {problem}")
        if totals.has_no_chain():
            raise CommandError(
                "All teams: the audit cannot be verified. It has no chain: no job has run yet, or "
                "the chains were removed."
            )

    def _verify(self, chain: int, name: str, noted: str) -> None:
        try:
            verified = verification.verify(chain, noted=noted)
        except verification.Broken as broken:
            raise CommandError(f"{name}: the audit was tampered with. {broken}") from broken
        self.stdout.write(f"{name}: {_summary(verified)}")


def _refuse_contradictions(
    team: str | None, *, no_team: bool, tip: str, manifest: Path | None
) -> None:
    if team is not None and no_team:
        raise CommandError("--team and --no-team cannot be used together.")
    if manifest and (team is not None or no_team):
        raise CommandError("--manifest names the chains itself. Use it without --team.")
    if tip and not ((team or no_team) and TIP.fullmatch(tip)):
        raise CommandError(
            "--head takes POSITION:HASH, as a digest shows it, and needs --team or --no-team."
        )


def _read(manifest: Path) -> dict[int, tuple[str, str]]:
    try:
        return noted_tips.read(manifest.read_text())
    except OSError as error:
        raise CommandError(f"{manifest}: {error.strerror}.") from None
    except noted_tips.NotGenuine as error:
        raise CommandError(f"{manifest}: {error}") from None


def _teams() -> list[tuple[int, str, str]]:
    return list(Team.objects.order_by("pk").values_list("pk", "slug", "name"))


def _summary(verified: verification.Verified) -> str:
    waiting = f" {verified.waiting} wait for their entry." if verified.waiting else ""
    if not verified.position:
        return f"the chain has no entries yet.{waiting}"
    return f"{verified.position} events, unbroken, up to {verified.tip}.{waiting}"
