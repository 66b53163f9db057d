"""A seal after the end of its chain stops all sealing: it is told, and what docs/operations.md says
then helps."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction

from accounts import seals
from accounts.audit import SYSTEM, record
from accounts.models import AuditEvent, AuditHead, AuditSeal, SealedUntil, Team
from accounts.verification import Broken, verify
from tests.outgoing.world import HOME

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
OPERATIONS = (HOME / "docs/operations.md").read_text()


@pytest.fixture
def chain(team: Team) -> int:
    """Seven sealed events of the team."""
    _light(team, times=7)
    seals.seal_new(at=AT)
    return team.pk


@pytest.fixture
def forged(chain: int, team: Team) -> AuditSeal:
    """At the next position, of one of two new events."""
    _light(team, times=2)
    event = AuditEvent.objects.latest("pk")
    return AuditSeal.objects.create(
        event_id=event.pk, chain=chain, position=8, hash="0" * 64, sealed_at=AT
    )


def _light(team: Team, *, times: int) -> None:
    for _ in range(times):
        record("lamp.lit", by=SYSTEM, of=team, team=team)


def _run(case: str, seal: AuditSeal) -> None:
    """What the manual has Python do, with the numbers of this seal."""
    found = re.search(rf"\*\*{case}.*?<<'END'\n(.*?)^END$", OPERATIONS, re.DOTALL | re.MULTILINE)
    assert found, case
    commands = found[1].replace("pk=57", f"pk={seal.pk}").replace("chain=1", f"chain={seal.chain}")
    exec(commands, {})  # noqa: S102 - our own document


def test_it_is_told_in_one_line(forged: AuditSeal, caplog: pytest.LogCaptureFixture) -> None:
    assert seals.seal_new(at=AT) == 0

    (line,) = [each for each in caplog.records if each.name == "accounts.seals"]
    assert line.levelname == "CRITICAL"
    assert line.exc_info is None
    assert line.getMessage() == (
        f"The audit cannot be sealed: seal {forged.pk} (of event {forged.event_id}, position 8, "
        f"chain {forged.chain}) stands after the end of its chain. Events are kept and wait; what "
        "to do is in docs/operations.md, A seal after the end"
    )
    assert "### A seal after the end\n" in OPERATIONS


def test_taken_away_as_the_manual_says_all_is_sealed(forged: AuditSeal) -> None:
    seals.seal_new(at=AT)

    _run("It is not the server's", forged)

    assert seals.seal_new(at=AT) == 2
    assert verify(forged.chain).position == 9
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        AuditSeal.objects.all().delete()


def test_the_event_that_it_hid_is_sealed_also_where_sweeps_have_passed_it(
    chain: int, team: Team
) -> None:
    _light(team, times=1)
    event = AuditEvent.objects.latest("pk")
    forged = AuditSeal.objects.create(
        event_id=event.pk, chain=chain, position=8, hash="0" * 64, sealed_at=AT
    )
    record("person.signed_in", by=SYSTEM, of=team, team=None)
    seals.seal_new(at=AT)
    assert SealedUntil.objects.get().event_id > event.pk

    _run("It is not the server's", forged)
    seals.seal_new(at=AT)

    assert verify(chain).position == 8


def test_an_end_that_was_set_back_is_put_back_as_the_manual_says(chain: int, team: Team) -> None:
    whole = verify(chain)
    first = AuditSeal.objects.get(chain=chain, position=1)
    AuditHead.objects.filter(chain=chain).update(position=0, hash=seals.BEGINNING)
    _light(team, times=1)
    assert seals.seal_new(at=AT) == 0
    with pytest.raises(Broken, match=f"Position 1: seal {first.pk} "):
        verify(chain)

    _run("It is the server's", first)

    assert verify(chain, noted=whole.head).head == whole.head
    assert seals.seal_new(at=AT) == 1


def test_what_is_wrong_for_another_reason_is_told_as_it_is(
    chain: int, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    _light(team, times=1)
    monkeypatch.setattr(seals, "link", lambda before, event: None)

    with pytest.raises(IntegrityError):
        seals.seal_new(at=AT)
