"""An entry after the tip of a chain stops that chain: the log says so, and docs/operations.md says
how to repair it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction

from accounts.audit import SYSTEM, record
from accounts.audit import chain as audit_chain
from accounts.audit.verification import Broken, verify
from accounts.models import AuditCheckpoint, AuditEntry, AuditEvent, AuditTip, Team
from tests.wake.callbacks.world import HOME

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
OPERATIONS = (HOME / "docs/operations.md").read_text()


@pytest.fixture
def chain(team: Team) -> int:
    """Records and chains seven events of the team."""
    _light(team, times=7)
    audit_chain.append_new(at=AT)
    return team.pk


@pytest.fixture
def forged(chain: int, team: Team) -> AuditEntry:
    """Adds an entry for one of two new events at the next position."""
    _light(team, times=2)
    event = AuditEvent.objects.latest("pk")
    return AuditEntry.objects.create(
        event_id=event.pk, chain=chain, position=8, hash="0" * 64, appended_at=AT
    )


def _light(team: Team, *, times: int) -> None:
    for _ in range(times):
        record("lamp.lit", by=SYSTEM, of=team, team=team)


def _run(case: str, entry: AuditEntry) -> None:
    """Runs the manual's Python commands with the numbers of this entry."""
    example = re.search(rf"\*\*{case}.*?<<'END'\n(.*?)^END$", OPERATIONS, re.DOTALL | re.MULTILINE)
    assert example, case
    commands = (
        example[1].replace("pk=57", f"pk={entry.pk}").replace("chain=1", f"chain={entry.chain}")
    )
    exec(commands, {})  # noqa: S102 - our own document


def test_the_log_names_the_entry_in_one_line(
    forged: AuditEntry, caplog: pytest.LogCaptureFixture
) -> None:
    assert audit_chain.append_new(at=AT) == 0

    (line,) = [record for record in caplog.records if record.name == "accounts.audit.chain"]
    assert line.levelname == "CRITICAL"
    assert line.exc_info is None
    assert line.getMessage() == (
        f"An audit chain cannot be extended: entry {forged.pk} (of event {forged.event_id}, "
        f"position 8, chain {forged.chain}) stands after its tip. The events of this chain are "
        "kept and wait; docs/operations.md, An entry after the tip, says what to do"
    )
    assert "### An entry after the tip\n" in OPERATIONS


@pytest.mark.parametrize("is_of_a_team", [True, False])
def test_a_conflicting_entry_in_one_chain_stops_no_other_chain(
    team: Team, caplog: pytest.LogCaptureFixture, is_of_a_team: bool
) -> None:
    """Before, one conflicting entry stopped the chaining for every team."""
    chain = team.pk if is_of_a_team else audit_chain.NO_TEAM
    blocked, other = (team, None) if is_of_a_team else (None, team)
    record("lamp.lit", by=SYSTEM, of=team, team=blocked)
    audit_chain.append_new(at=AT)
    forged = AuditEntry.objects.create(
        event_id=2**40, chain=chain, position=2, hash="0" * 64, appended_at=AT
    )
    for recorded_team in (blocked, other, blocked, other):
        record("lamp.lit", by=SYSTEM, of=team, team=recorded_team)

    appended = [audit_chain.append_new(at=AT) for _ in range(2)]

    assert appended == [2, 0]
    assert verify(audit_chain.NO_TEAM if is_of_a_team else team.pk).position == 2
    errors = [line for line in caplog.records if line.levelname == "CRITICAL"]
    assert len(errors) == 2
    with pytest.raises(Broken, match="Position 2: entry "):
        verify(chain)
    _run("It is not the server's", forged)
    assert audit_chain.append_new(at=AT) == 2
    assert verify(chain).position == 3


def test_the_manuals_repair_chains_every_event(forged: AuditEntry) -> None:
    audit_chain.append_new(at=AT)

    _run("It is not the server's", forged)

    assert audit_chain.append_new(at=AT) == 2
    assert verify(forged.chain).position == 9
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        AuditEntry.objects.all().delete()


def test_an_event_below_the_checkpoint_is_chained_later(chain: int, team: Team) -> None:
    _light(team, times=1)
    event = AuditEvent.objects.latest("pk")
    forged = AuditEntry.objects.create(
        event_id=event.pk, chain=chain, position=8, hash="0" * 64, appended_at=AT
    )
    record("person.signed_in", by=SYSTEM, of=team, team=None)
    audit_chain.append_new(at=AT)
    assert AuditCheckpoint.objects.get().event_id > event.pk

    _run("It is not the server's", forged)
    audit_chain.append_new(at=AT)

    assert verify(chain).position == 8


def test_the_manuals_repair_restores_a_rolled_back_tip(chain: int, team: Team) -> None:
    whole = verify(chain)
    first = AuditEntry.objects.get(chain=chain, position=1)
    AuditTip.objects.filter(chain=chain).update(position=0, hash=audit_chain.BEGINNING)
    _light(team, times=1)
    assert audit_chain.append_new(at=AT) == 0
    with pytest.raises(Broken, match=f"Position 1: entry {first.pk} "):
        verify(chain)

    _run("It is the server's", first)

    assert verify(chain, noted=whole.tip).tip == whole.tip
    assert audit_chain.append_new(at=AT) == 1


def test_another_error_is_reported_unchanged(
    chain: int, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    _light(team, times=1)
    monkeypatch.setattr(audit_chain, "link", lambda before, event: None)

    with pytest.raises(IntegrityError):
        audit_chain.append_new(at=AT)
