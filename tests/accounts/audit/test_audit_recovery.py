"""An entry after the tip of a chain stops that chain: the log says so, and docs/operations.md says
how to repair it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction

from accounts.audit import SYSTEM, record
from accounts.audit import chain as seals
from accounts.audit.verification import Broken, verify
from accounts.models import AuditEvent, AuditHead, AuditSeal, SealedUntil, Team
from tests.wake.callbacks.world import HOME

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
OPERATIONS = (HOME / "docs/operations.md").read_text()


@pytest.fixture
def chain(team: Team) -> int:
    """Records and chains seven events of the team."""
    _light(team, times=7)
    seals.append_new(at=AT)
    return team.pk


@pytest.fixture
def forged(chain: int, team: Team) -> AuditSeal:
    """Adds an entry for one of two new events at the next position."""
    _light(team, times=2)
    event = AuditEvent.objects.latest("pk")
    return AuditSeal.objects.create(
        event_id=event.pk, chain=chain, position=8, hash="0" * 64, sealed_at=AT
    )


def _light(team: Team, *, times: int) -> None:
    for _ in range(times):
        record("lamp.lit", by=SYSTEM, of=team, team=team)


def _run(case: str, seal: AuditSeal) -> None:
    """Runs the manual's Python commands with the numbers of this entry."""
    found = re.search(rf"\*\*{case}.*?<<'END'\n(.*?)^END$", OPERATIONS, re.DOTALL | re.MULTILINE)
    assert found, case
    commands = found[1].replace("pk=57", f"pk={seal.pk}").replace("chain=1", f"chain={seal.chain}")
    exec(commands, {})  # noqa: S102 - our own document


def test_it_is_told_in_one_line(forged: AuditSeal, caplog: pytest.LogCaptureFixture) -> None:
    assert seals.append_new(at=AT) == 0

    (line,) = [each for each in caplog.records if each.name == "accounts.audit.chain"]
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
    chain = team.pk if is_of_a_team else seals.NO_TEAM
    blocked, other = (team, None) if is_of_a_team else (None, team)
    record("lamp.lit", by=SYSTEM, of=team, team=blocked)
    seals.append_new(at=AT)
    forged = AuditSeal.objects.create(
        event_id=2**40, chain=chain, position=2, hash="0" * 64, sealed_at=AT
    )
    for each in (blocked, other, blocked, other):
        record("lamp.lit", by=SYSTEM, of=team, team=each)

    sealed = [seals.append_new(at=AT) for _ in range(2)]

    assert sealed == [2, 0]
    assert verify(seals.NO_TEAM if is_of_a_team else team.pk).position == 2
    told = [line for line in caplog.records if line.levelname == "CRITICAL"]
    assert len(told) == 2
    with pytest.raises(Broken, match="Position 2: entry "):
        verify(chain)
    _run("It is not the server's", forged)
    assert seals.append_new(at=AT) == 2
    assert verify(chain).position == 3


def test_after_removal_as_the_manual_says_every_event_is_chained(forged: AuditSeal) -> None:
    seals.append_new(at=AT)

    _run("It is not the server's", forged)

    assert seals.append_new(at=AT) == 2
    assert verify(forged.chain).position == 9
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        AuditSeal.objects.all().delete()


def test_the_event_that_it_hid_is_chained_even_when_sweeps_have_passed_it(
    chain: int, team: Team
) -> None:
    _light(team, times=1)
    event = AuditEvent.objects.latest("pk")
    forged = AuditSeal.objects.create(
        event_id=event.pk, chain=chain, position=8, hash="0" * 64, sealed_at=AT
    )
    record("person.signed_in", by=SYSTEM, of=team, team=None)
    seals.append_new(at=AT)
    assert SealedUntil.objects.get().event_id > event.pk

    _run("It is not the server's", forged)
    seals.append_new(at=AT)

    assert verify(chain).position == 8


def test_an_end_that_was_set_back_is_put_back_as_the_manual_says(chain: int, team: Team) -> None:
    whole = verify(chain)
    first = AuditSeal.objects.get(chain=chain, position=1)
    AuditHead.objects.filter(chain=chain).update(position=0, hash=seals.BEGINNING)
    _light(team, times=1)
    assert seals.append_new(at=AT) == 0
    with pytest.raises(Broken, match=f"Position 1: entry {first.pk} "):
        verify(chain)

    _run("It is the server's", first)

    assert verify(chain, noted=whole.tip).tip == whole.tip
    assert seals.append_new(at=AT) == 1


def test_another_error_is_reported_as_it_is(
    chain: int, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    _light(team, times=1)
    monkeypatch.setattr(seals, "link", lambda before, event: None)

    with pytest.raises(IntegrityError):
        seals.append_new(at=AT)
