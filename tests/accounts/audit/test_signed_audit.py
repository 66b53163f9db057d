"""Version 0.2 signed the tips and totals of audit chains. The manifest of a backup had both."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.audit import SYSTEM, record
from accounts.audit import chain as audit_chain
from accounts.audit.verification import verify
from accounts.log import sweep
from accounts.models import AuditEntry, AuditEvent, Team


def _verify_all(*options: str) -> str:
    output = StringIO()
    call_command("audit_verify", *options, stdout=output)
    return output.getvalue()


def _log_another(team: Team) -> None:
    record("lamp.lit", by=SYSTEM, of=team, team=team)
    sweep.append_new(at=timezone.now())


def _remove_all(chain: int, tamper: Callable[..., None]) -> None:
    tamper("DELETE FROM accounts_auditevent WHERE team_id = %s", chain)
    tamper("DELETE FROM accounts_auditseal WHERE chain = %s", chain)
    tamper("DELETE FROM accounts_audithead WHERE chain = %s", chain)


def test_a_team_whose_whole_chain_was_removed_is_found(
    chain: int, tamper: Callable[..., None]
) -> None:
    _verify_all()

    _remove_all(chain, tamper)

    with pytest.raises(CommandError, match=r"9 events in 2 chains.*2 in 1"):
        _verify_all()
    _verify_all("--count-again")
    _verify_all()


@pytest.mark.parametrize(
    "change",
    [
        "events = events - 7, chains = chains - 1",
        "signature = ''",
        "events = 0, signature = '', event_id = 0",
    ],
)
def test_changed_totals_are_found_and_not_signed_again(
    chain: int, tamper: Callable[..., None], team: Team, change: str
) -> None:
    tamper(f"UPDATE accounts_sealeduntil SET {change}")  # noqa: S608 - made up above

    with pytest.raises(CommandError, match="signed totals"):
        _verify_all()
    _log_another(team)

    with pytest.raises(CommandError, match="signed totals"):
        _verify_all()


def _rewrite(chain: int, tamper: Callable[..., None]) -> None:
    """Replaces the last event, its entry and the tip, so that every total stays the same."""
    last = AuditEntry.objects.get(chain=chain, position=7)
    tamper("UPDATE accounts_auditevent SET actor_name = 'mallory' WHERE id = %s", last.event_id)
    before = AuditEntry.objects.get(chain=chain, position=6)
    rewritten = audit_chain.link(before.hash, AuditEvent.objects.get(pk=last.event_id))
    tamper("UPDATE accounts_auditseal SET hash = %s WHERE id = %s", rewritten, last.pk)
    tamper("UPDATE accounts_audithead SET hash = %s WHERE chain = %s", rewritten, chain)


def test_a_rewritten_chain_with_its_tip_is_found(chain: int, tamper: Callable[..., None]) -> None:
    _rewrite(chain, tamper)

    assert verify(chain).position == 7
    with pytest.raises(CommandError, match=r"Garden: .* Wake did not sign the tip"):
        _verify_all()


def test_rotation_does_not_sign_what_was_changed(
    chain: int, tamper: Callable[..., None], team: Team
) -> None:
    _rewrite(chain, tamper)
    tamper("UPDATE accounts_sealeduntil SET events = 1")

    call_command("rotate_encryption", stdout=StringIO())

    with pytest.raises(CommandError, match="did not sign"):
        _verify_all()


@pytest.fixture
def manifest(chain: int, make_manifest: Callable[[], Path]) -> Path:
    """Returns the manifest of a backup that was made when the team had seven events."""
    return make_manifest()


def test_a_longer_chain_agrees_with_the_manifest(manifest: Path, team: Team) -> None:
    _log_another(team)

    assert "Garden, chain of version 0.2: 7 events, unbroken" in _verify_all(
        "--manifest", str(manifest)
    )


def test_the_manifest_reveals_events_removed_together_with_their_tip(
    chain: int, manifest: Path, tamper: Callable[..., None], team: Team
) -> None:
    _remove_all(chain, tamper)
    _verify_all("--count-again")  # as if the totals of an old backup had been put back

    with pytest.raises(CommandError, match=r"Garden: .* position 0, and had reached 7"):
        _verify_all("--manifest", str(manifest))


def test_the_manifest_names_a_removed_team(
    chain: int, manifest: Path, tamper: Callable[..., None], team: Team
) -> None:
    _remove_all(chain, tamper)
    _verify_all("--count-again")
    team.memberships.all().delete()
    team.delete()

    with pytest.raises(CommandError, match=r"Garden, which was removed: .* had reached 7"):
        _verify_all("--manifest", str(manifest))


def test_a_changed_manifest_is_refused(chain: int, manifest: Path) -> None:
    content = json.loads(manifest.read_text())
    del content["audit"]["tips"][str(chain)]
    manifest.write_text(json.dumps(content))

    for words in ([str(manifest)], [str(manifest.with_name("none"))]):
        with pytest.raises(CommandError, match=r"has signed|No such file"):
            _verify_all("--manifest", *words)
    with pytest.raises(CommandError, match="names the chains itself"):
        _verify_all("--manifest", str(manifest), "--team", "garden")


def test_an_invalid_manifest_is_refused(chain: int, tmp_path: Path) -> None:
    for text in ("", "[]", "{}", '{"audit": {"tips": {}, "signature": 5}}'):
        (tmp_path / "other.json").write_text(text)

        with pytest.raises(CommandError, match="has signed"):
            _verify_all("--manifest", str(tmp_path / "other.json"))
