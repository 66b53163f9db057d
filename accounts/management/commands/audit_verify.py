"""`manage.py audit_verify` checks the log of the audit, and the audit chains of version 0.2. If the
audit was changed, or has no log, the command says so and exits with 1."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.audit import totals
from accounts.audit import verification as chains
from accounts.audit.chain import NO_TEAM
from accounts.log import beginning, manifest, repair, signed_tree, tiles, verification
from accounts.models import Team

HEAD = re.compile(r"\d{1,18}:[0-9a-f]{64}")
TAMPERED = "the audit was tampered with."


class Command(BaseCommand):
    help = "Checks that nothing in the audit was changed, removed, inserted or moved."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--all",
            action="store_true",
            help="check every entry of the log, and not only those since the last check",
        )
        parser.add_argument(
            "--team", metavar="SLUG", help="check every entry of this team, too, and its chain"
        )
        parser.add_argument(
            "--no-team",
            action="store_true",
            help="check every entry without a team, too, and their chain",
        )
        parser.add_argument(
            "--head",
            metavar="SIZE:ROOT",
            default="",
            help="a head of the log that you stored earlier (from a digest, /audit/head.json or "
            "this command), with which the log must still begin; with --team or --no-team, a tip "
            "POSITION:HASH of that chain of version 0.2",
        )
        parser.add_argument(
            "--count-again",
            action="store_true",
            help="after a repair by hand: compute what follows from the entries again, check every "
            "entry, and sign",
        )
        parser.add_argument(
            "--manifest",
            type=Path,
            metavar="FILE",
            help="the manifest of a backup: the log, and every chain that it names, must still be "
            "there, at least as long as then",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        _refuse_contradictions(options)
        # A repair that does not verify is rolled back. Without a repair, a transaction would only
        # hold up the writers of SQLite.
        with transaction.atomic() if options["count_again"] else nullcontext():
            try:
                self._verify(options)
            except tiles.DamagedTile as damage:
                raise CommandError(f"The log: {TAMPERED} {damage}") from damage
            except (verification.Broken, repair.Gap) as broken:
                raise CommandError(f"The log: {TAMPERED} {broken}") from broken

    def _verify(self, options: dict[str, Any]) -> None:
        team_id = _chosen(options)
        backup = _read(options["manifest"]) if options["manifest"] else manifest.Manifest("", {})
        if options["count_again"]:
            totals.count_again()
            repair.rebuild()
        verified = verification.verify(from_start=options["all"] or options["count_again"])
        self.stdout.write(f"The log: {_summary(verified)}")
        for head in filter(None, (backup.head, options["head"] if team_id is None else "")):
            verification.check_head(head, verified)
        if team_id is not None:
            self._verify_team(team_id, _names()[team_id], head=options["head"])
        elif not verified.start or backup.tips:
            self._verify_chains(backup)
        _refuse_forgeries()
        if team_id is None:
            signed_tree.remember_verification(verified.size, verified.root)

    def _verify_team(self, team_id: int, name: str, *, head: str) -> None:
        try:
            numbers = verification.verify_team(team_id)
        except verification.Broken as broken:
            raise CommandError(f"{name}: {TAMPERED} {broken}") from broken
        self.stdout.write(
            f"{name}: {len(numbers)} entries, numbers {numbers[0]} to {numbers[-1]}, none missing."
            if numbers
            else f"{name}: the log has no entries yet."
        )
        if head or team_id in chains.chains():
            self._verify_chain(team_id, name, head)

    def _verify_chains(self, backup: manifest.Manifest) -> None:
        """Checks every chain of version 0.2, also those that only the backup names."""
        names = _names() | {
            chain: f"{name or f'Team {chain}'}, which was removed"
            for chain, (name, _) in backup.tips.items()
            if chain not in _names()
        }
        for chain in sorted({*chains.chains(), *backup.tips}):
            _, tip = backup.tips.get(chain, ("", ""))
            self._verify_chain(chain, names.get(chain, f"Team {chain}, which was removed"), tip)

    def _verify_chain(self, chain: int, name: str, tip: str) -> None:
        try:
            verified = chains.verify(chain, stored_tip=tip)
        except chains.BrokenChain as broken:
            raise CommandError(f"{name}: {TAMPERED} {broken}") from broken
        self.stdout.write(
            f"{name}, chain of version 0.2: {verified.position} events, unbroken, up to "
            f"{verified.tip}."
        )


def _refuse_contradictions(options: dict[str, Any]) -> None:
    is_of_team = options["team"] is not None or options["no_team"]
    if options["team"] is not None and options["no_team"]:
        raise CommandError("--team and --no-team cannot be used together.")
    if options["manifest"] and is_of_team:
        raise CommandError("--manifest names the chains itself. Use it without --team.")
    if options["head"] and not HEAD.fullmatch(options["head"]):
        raise CommandError(
            "--head takes SIZE:ROOT, as a digest shows it, or POSITION:HASH of a chain of version "
            "0.2 with --team or --no-team."
        )


def _refuse_forgeries() -> None:
    for chain in totals.forged_tips():
        name = _names().get(chain, f"Chain {chain}")
        raise CommandError(f"{name}: {TAMPERED} Wake did not sign the tip of this chain.")
    if problem := totals.problem() or beginning.problem():
        raise CommandError(f"All teams: {TAMPERED} {problem}")
    if beginning.has_no_log():
        raise CommandError(
            "All teams: the audit cannot be verified. It has no log: no job has run yet, or the "
            "log was removed."
        )


def _chosen(options: dict[str, Any]) -> int | None:
    """Returns the id of the team, 0 for events without a team, or None for all."""
    if options["no_team"]:
        return NO_TEAM
    if options["team"] is None:
        return None
    team_id = Team.objects.filter(slug=options["team"]).values_list("pk", flat=True).first()
    if team_id is None:
        raise CommandError(f"There is no team {options['team']!r}.")
    return team_id


def _read(path: Path) -> manifest.Manifest:
    try:
        return manifest.read(path.read_text())
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from None
    except manifest.NotGenuine as error:
        raise CommandError(f"{path}: {error}") from None


def _names() -> dict[int, str]:
    return {NO_TEAM: "No team", **dict(Team.objects.values_list("pk", "name"))}


def _summary(verified: verification.Verified) -> str:
    waiting = f" {verified.waiting} wait for their entry." if verified.waiting else ""
    if not verified.size:
        return f"it has no entries yet.{waiting}"
    new = f" {verified.size - verified.start} since the last check." if verified.start else ""
    return f"{verified.size} entries, unbroken, up to {verified.head}.{new}{waiting}"
