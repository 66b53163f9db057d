"""Each team had an audit chain in version 0.2, and verification finds any change to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.audit import chain as audit_chain
from accounts.audit.verification import BrokenChain, verify
from accounts.models import AuditEntry, AuditEvent, AuditTip, Team, User

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)


def _event(chain: int, position: int) -> int:
    return AuditEntry.objects.get(chain=chain, position=position).event_id


def _broken(chain: int, *, stored_tip: str = "") -> str:
    with pytest.raises(BrokenChain) as broken:
        verify(chain, stored_tip=stored_tip)
    return str(broken.value)


def test_each_link_is_the_hash_of_the_one_before_and_its_event(chain: int) -> None:
    before = "0" * 64
    for position, entry in enumerate(
        AuditEntry.objects.filter(chain=chain).order_by("position"), 1
    ):
        event = AuditEvent.objects.get(pk=entry.event_id)
        facts = [
            event.pk,
            f"2026-11-03T09:30:0{position - 1}.000000+00:00",
            chain,
            "lamp.lit",
            "person",
            event.actor_id,
            "alice",
            "team",
            str(chain),
            "Garden",
            "192.0.2.7",
            {"number": position - 1},
        ]
        written = json.dumps(facts, separators=(",", ":")).encode()
        before = hashlib.sha256(bytes.fromhex(before) + written).hexdigest()
        assert (entry.position, entry.hash, entry.appended_at) == (position, before, AT)
    tip = AuditTip.objects.get(chain=chain)
    assert (tip.position, tip.hash) == (7, before)


def test_events_without_a_team_have_their_own_chain(chain: int) -> None:
    assert verify(audit_chain.NO_TEAM).position == 2
    assert verify(chain).position == 7


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("at", "2026-11-03 09:30:02.000001+00:00"),
        ("event", "lamp.put_out"),
        ("actor_kind", "system"),
        ("actor_id", "0"),
        ("actor_name", "bob"),
        ("object_kind", "lamp"),
        ("object_id", "0"),
        ("object_name", "Orchard"),
        ("address", "192.0.2.8"),
        ("detail", '{"number": 9}'),
    ],
)
def test_a_changed_event_is_found(
    chain: int, tamper: Callable[..., None], column: str, value: str
) -> None:
    changed = _event(chain, 3)

    statement = f"UPDATE accounts_auditevent SET {column} = %s WHERE id = %s"  # noqa: S608 - ours
    tamper(statement, value, changed)

    assert _broken(chain) == f"Position 3: event {changed} does not match its entry."


def test_an_event_that_was_given_to_another_team_is_found(
    chain: int, tamper: Callable[..., None]
) -> None:
    moved = _event(chain, 4)

    tamper("UPDATE accounts_auditevent SET team_id = 0 WHERE id = %s", moved)

    assert _broken(chain) == f"Position 4: event {moved} was given to another team."


def test_a_removed_event_is_found(chain: int, tamper: Callable[..., None]) -> None:
    removed = _event(chain, 5)

    tamper("DELETE FROM accounts_auditevent WHERE id = %s", removed)

    assert _broken(chain) == f"Position 5: event {removed} was removed."


def test_an_event_that_was_removed_with_its_chain_entry_is_found(
    chain: int, tamper: Callable[..., None]
) -> None:
    removed = _event(chain, 5)

    tamper("DELETE FROM accounts_auditevent WHERE id = %s", removed)
    tamper("DELETE FROM accounts_auditseal WHERE event_id = %s", removed)

    assert _broken(chain) == "Position 5: its entry was removed."


def test_a_removed_end_of_a_chain_is_found(chain: int, tamper: Callable[..., None]) -> None:
    for position in (6, 7):
        removed = _event(chain, position)
        tamper("DELETE FROM accounts_auditevent WHERE id = %s", removed)
        tamper("DELETE FROM accounts_auditseal WHERE event_id = %s", removed)

    assert _broken(chain) == "Position 6: the end is missing, up to 7."


def test_a_truncated_chain_is_found_by_comparing_a_noted_tip(
    chain: int, tamper: Callable[..., None]
) -> None:
    stored_tip = verify(chain).tip
    assert verify(chain, stored_tip=stored_tip).tip == stored_tip
    for position in (6, 7):
        removed = _event(chain, position)
        tamper("DELETE FROM accounts_auditevent WHERE id = %s", removed)
        tamper("DELETE FROM accounts_auditseal WHERE event_id = %s", removed)
    last = AuditEntry.objects.get(chain=chain, position=5)
    tamper(
        "UPDATE accounts_audithead SET position = 5, hash = %s WHERE chain = %s", last.hash, chain
    )

    assert verify(chain).position == 5
    assert _broken(chain, stored_tip=stored_tip) == (
        "The chain ends at position 5, and had reached 7 when its tip was stored."
    )


def test_swapped_events_are_found(chain: int, tamper: Callable[..., None]) -> None:
    second, third = _event(chain, 2), _event(chain, 3)

    for event, other in ((second, -1), (third, second), (-1, third)):
        tamper("UPDATE accounts_auditseal SET event_id = %s WHERE event_id = %s", other, event)

    assert _broken(chain) == f"Position 2: event {third} does not match its entry."


def test_a_rewritten_tip_is_found(chain: int, tamper: Callable[..., None]) -> None:
    tamper("UPDATE accounts_audithead SET hash = %s WHERE chain = %s", "1" * 64, chain)
    assert _broken(chain) == "Position 7: the chain ended here with another hash."

    tamper("DELETE FROM accounts_audithead WHERE chain = %s", chain)
    first = AuditEntry.objects.get(chain=chain, position=1)
    assert _broken(chain) == (
        f"Position 1: entry {first.pk} (of event {first.event_id}, position 1, chain {chain}) "
        "stands after the tip of the chain."
    )


def test_the_command_reports_an_unbroken_chain(chain: int) -> None:
    output = StringIO()

    call_command("audit_verify", stdout=output)

    tip = AuditTip.objects.get(chain=chain)
    assert (
        f"Garden, chain of version 0.2: 7 events, unbroken, up to 7:{tip.hash}."
        in output.getvalue()
    )
    assert "No team, chain of version 0.2: 2 events, unbroken" in output.getvalue()


def test_the_command_names_the_first_that_is_broken(
    chain: int, tamper: Callable[..., None]
) -> None:
    changed = _event(chain, 3)
    tamper("UPDATE accounts_auditevent SET actor_name = '' WHERE id >= %s", changed)

    with pytest.raises(CommandError) as error:
        call_command("audit_verify", "--team", "garden", stdout=StringIO())

    assert error.value.returncode == 1
    assert str(error.value) == (
        "Garden: the audit was tampered with. "
        f"Position 3: event {changed} does not match its entry."
    )


def test_the_command_compares_a_tip_from_a_mail(chain: int) -> None:
    tip = str(AuditTip.objects.get(chain=chain))

    call_command("audit_verify", "--team", "garden", "--head", tip, stdout=StringIO())

    for wrong, words in (
        (f"7:{'a' * 64}", "the stored tip has another hash"),
        (f"9:{'a' * 64}", "ends at position 7, and had reached 9"),
        ("nonsense", "POSITION:HASH"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("audit_verify", "--team", "garden", "--head", wrong, stdout=StringIO())
    with pytest.raises(CommandError, match="There is no team 'nowhere'"):
        call_command("audit_verify", "--team", "nowhere", stdout=StringIO())


def test_the_command_compares_a_tip_of_the_chain_without_a_team(chain: int) -> None:
    output = StringIO()
    tip = str(AuditTip.objects.get(chain=audit_chain.NO_TEAM))

    call_command("audit_verify", "--no-team", "--head", tip, stdout=output)

    line = f"No team, chain of version 0.2: 2 events, unbroken, up to {tip}.\n"
    assert output.getvalue().endswith(line)
    with pytest.raises(CommandError, match="No team: the audit was tampered with"):
        call_command("audit_verify", "--no-team", "--head", f"2:{'0' * 64}", stdout=StringIO())


def test_a_tip_belongs_to_one_chain(chain: int) -> None:
    which = ["--team", "garden", "--no-team"]
    with pytest.raises(CommandError, match="--no-team"):
        call_command("audit_verify", *which, "--head", f"1:{'0' * 64}", stdout=StringIO())


def test_the_chain_of_a_team_that_is_gone_is_still_checked(
    chain: int, team: Team, alice: User
) -> None:
    team.memberships.all().delete()
    team.delete()
    output = StringIO()

    call_command("audit_verify", stdout=output)

    assert (
        f"Team {chain}, which was removed, chain of version 0.2: 7 events, unbroken"
        in output.getvalue()
    )
