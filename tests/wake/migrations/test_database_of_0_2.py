"""The audit chains of version 0.2 become the first entry of the log, and `audit_verify` agrees
before and after."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from accounts.audit import SYSTEM, chain, record, verification
from accounts.audit.signatures import sign
from accounts.log import signed_tree, sweep
from accounts.log.verification import verify_team
from accounts.models import AuditEntry, AuditEvent, AuditTip, LogEntry, Team
from tests.fixtures import version_0_2

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

BEFORE_THE_LOG = [("accounts", "0025_gates_have_keys"), ("wake", "0056_receipts_are_a_route")]


@pytest.fixture
def team(transactional_db: None) -> Iterator[Team]:
    """Returns a team with seven chained events and one that waits, in a database of version 0.2.
    Two chained events have no team."""
    try:
        yield _filled()
    finally:
        call_command("migrate", verbosity=0)


def _filled() -> Team:
    before = MigrationExecutor(connection).migrate(BEFORE_THE_LOG)
    # The model of today has columns that the table of 0.2 lacks.
    row = before.apps.get_model("accounts", "Team").objects.create(slug="garden", name="Garden")
    team = Team(pk=row.pk, slug=row.slug, name=row.name)
    for _ in range(7):
        _light(team)
    for _ in range(2):
        record("person.signed_in", by=SYSTEM, of=team, team=None)
    version_0_2.chain_events(at=timezone.now())
    _light(team)
    return team


def _light(team: Team) -> None:
    record("lamp.lit", by=SYSTEM, of=team, team=team)


def _audit_verify(*options: str) -> str:
    output = StringIO()
    call_command("audit_verify", *options, stdout=output)
    return output.getvalue()


def _tips() -> dict[int, str]:
    return {tip.chain: str(tip) for tip in AuditTip.objects.all()}


def test_the_tips_become_the_first_entry(team: Team) -> None:
    before = {each: verification.verify(each).tip for each in verification.chains()}
    call_command("migrate", verbosity=0)
    assert "1 wait for their entry" in _audit_verify()
    _light(team)

    assert sweep.append_new(at=timezone.now()) == 2

    assert _tips() == before
    first, *others = LogEntry.objects.order_by("index")
    tips = {str(each): tip for each, tip in sorted(before.items())}
    text = json.dumps(tips, sort_keys=True, separators=(",", ":")).encode()
    assert (first.kind, first.team_id, first.number) == ("tips", chain.NO_TEAM, 3)
    assert bytes(first.sha256) == hashlib.sha256(text).digest()
    assert [(entry.kind, entry.number) for entry in others] == [("event", 8), ("event", 9)]
    assert verify_team(team.pk) == range(8, 10)
    report = _audit_verify("--all")
    assert "The log: 3 entries, unbroken" in report
    for name, each in (("Garden", team.pk), ("No team", chain.NO_TEAM)):
        events = before[each].partition(":")[0]
        assert (
            f"{name}, chain of version 0.2: {events} events, unbroken, up to {before[each]}."
        ) in report
        which = ["--team", "garden"] if each else ["--no-team"]
        assert before[each] in _audit_verify(*which, "--head", before[each])


def test_a_server_without_new_events_gets_the_first_entry_too(team: Team) -> None:
    version_0_2.chain_events(at=timezone.now())
    call_command("migrate", verbosity=0)

    sweep.append_new(at=timezone.now())

    assert LogEntry.objects.get().kind == "tips"
    assert sweep.append_new(at=timezone.now()) == 0


def test_a_sweep_of_0_2_that_still_runs_loses_nothing(team: Team) -> None:
    call_command("migrate", verbosity=0)
    waiting = AuditEvent.objects.latest("pk")
    tip = AuditTip.objects.get(chain=team.pk)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        AuditTip.objects.filter(chain=team.pk).update(position=8)
        AuditEntry.objects.create(
            event_id=waiting.pk,
            chain=team.pk,
            position=8,
            hash=chain.link(tip.hash, waiting),
            appended_at=timezone.now(),
        )

    sweep.append_new(at=timezone.now())

    assert LogEntry.objects.get(event_id=waiting.pk).number == 8
    assert "unbroken" in _audit_verify("--all")


def test_changes_before_the_upgrade_are_found_after_it(team: Team) -> None:
    changed = AuditEntry.objects.get(chain=team.pk, position=3).event_id
    with version_0_2.unguarded():
        AuditEvent.objects.filter(pk=changed).update(actor_name="mallory")
    call_command("migrate", verbosity=0)
    sweep.append_new(at=timezone.now())

    with pytest.raises(CommandError, match=f"Position 3: event {changed} does not match its entry"):
        _audit_verify()


def test_changes_to_the_chains_after_the_upgrade_are_found(team: Team) -> None:
    call_command("migrate", verbosity=0)
    sweep.append_new(at=timezone.now())
    _audit_verify()

    AuditTip.objects.filter(chain=team.pk).update(hash="a" * 64)

    with pytest.raises(CommandError, match="Entry 0: the tips of version 0.2 do not match it"):
        _audit_verify("--all")


def test_a_manifest_of_0_2_still_counts(team: Team, tmp_path: Path) -> None:
    tips = {str(each): {"team": "", "tip": tip} for each, tip in _tips().items()}
    signature = sign(f"audit manifest {json.dumps(tips, sort_keys=True)}")
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"audit": {"tips": tips, "signature": signature}}))
    call_command("migrate", verbosity=0)
    sweep.append_new(at=timezone.now())

    report = _audit_verify("--manifest", str(manifest))

    assert "Garden, chain of version 0.2: 7 events, unbroken" in report
    head = signed_tree.head(signed_tree.stored())
    assert f"up to {head}" in report
