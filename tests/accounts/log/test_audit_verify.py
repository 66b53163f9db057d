"""`audit_verify` reports on the log. The manifest of a backup shows what has gone missing since the
backup."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.audit import SYSTEM, record
from accounts.jobs import extend_log
from accounts.log import merkle, signed_tree, sweep, tree
from accounts.log.beginning import TIME_TO_LOG
from accounts.models import AuditEvent, LogEntry, LogTree, Team

Tamper = Callable[..., None]
TABLES = ("auditevent", "logentry", "logtile", "logtree", "logteam", "sealeduntil")


def _verify(*options: str) -> str:
    output = StringIO()
    call_command("audit_verify", *options, stdout=output)
    return output.getvalue()


def _log_another(team: Team) -> None:
    record("lamp.lit", by=SYSTEM, of=team, team=team)
    sweep.append_new(at=timezone.now())


def _head() -> str:
    return signed_tree.head(signed_tree.stored())


def _remove_all(tamper: Tamper) -> None:
    for table in TABLES:
        tamper(f"DELETE FROM accounts_{table}")  # noqa: S608 - made up above


def test_the_command_reports_an_unbroken_log(logged: int, team: Team) -> None:
    assert _verify() == f"The log: 9 entries, unbroken, up to {_head()}.\n"

    _log_another(team)
    record("lamp.lit", by=SYSTEM, of=team, team=team)

    assert _verify() == (
        f"The log: 10 entries, unbroken, up to {_head()}. 1 since the last check. "
        "1 wait for their entry.\n"
    )
    assert _verify("--all") == (
        f"The log: 10 entries, unbroken, up to {_head()}. 1 wait for their entry.\n"
    )


def test_the_command_reports_on_a_team(logged: int, team: Team) -> None:
    lines = _verify("--team", "garden").splitlines()
    assert lines[1] == "Garden: 7 entries, numbers 1 to 7, none missing."
    lines = _verify("--no-team").splitlines()
    assert lines[1] == "No team: 2 entries, numbers 1 to 2, none missing."
    Team.objects.create(slug="quiet", name="Quiet")
    lines = _verify("--team", "quiet").splitlines()
    assert lines[1] == "Quiet: the log has no entries yet."
    with pytest.raises(CommandError, match="There is no team 'nowhere'"):
        _verify("--team", "nowhere")


def test_the_command_names_the_first_that_is_broken(logged: int, tamper: Tamper) -> None:
    changed = LogEntry.objects.get(pk=2).event_id
    tamper("UPDATE accounts_auditevent SET actor_name = '' WHERE id >= %s", changed)

    for options in ([], ["--team", "garden"]):
        with pytest.raises(CommandError) as error:
            _verify(*options)
        assert error.value.returncode == 1
        assert str(error.value) == (
            "The log: the audit was tampered with. "
            f"Entry 2: event {changed} does not match its entry."
        )


def test_a_team_is_verified_whole(logged: int, team: Team, tamper: Tamper) -> None:
    for _ in range(300):
        record("lamp.lit", by=SYSTEM, of=team, team=team)
    sweep.append_new(at=timezone.now())
    _verify()
    changed = LogEntry.objects.get(pk=2).event_id
    tamper("UPDATE accounts_auditevent SET actor_name = '' WHERE id = %s", changed)

    assert "0 since the last check" in _verify()
    with pytest.raises(CommandError, match=f"Garden: .* Entry 2: event {changed} does not match"):
        _verify("--team", "garden")
    with pytest.raises(CommandError, match=f"The log: .* Entry 2: event {changed} does not match"):
        _verify("--all")


def test_the_command_compares_a_head_from_a_mail(logged: int, team: Team) -> None:
    earlier = _head()
    for _ in range(3):
        _log_another(team)

    _verify("--head", earlier)
    _verify("--head", _head())
    _verify("--head", f"0:{merkle.root([]).hex()}")
    _verify("--head", f"5:{tree.root(5).hex()}")

    for wrong, words in (
        (f"7:{'a' * 64}", "Size 7: the stored head has another root"),
        (f"99:{'a' * 64}", "has 12 entries, and had 99 when its head was stored"),
        ("nonsense", "SIZE:ROOT"),
    ):
        with pytest.raises(CommandError, match=words):
            _verify("--head", wrong)


def test_a_log_with_another_history_is_found_by_a_stored_head(
    logged: int, team: Team, tamper: Tamper
) -> None:
    """The whole log is written again, with the server's own keys."""
    stored = _head()
    for table in ("logentry", "logtile", "logtree", "logteam", "sealeduntil"):
        tamper(f"DELETE FROM accounts_{table}")  # noqa: S608 - made up above
    tamper("UPDATE accounts_auditevent SET actor_name = 'mallory'")
    sweep.append_new(at=timezone.now())
    _verify()

    with pytest.raises(CommandError, match="Size 9: the stored head has another root"):
        _verify("--head", stored)


def test_an_audit_that_was_removed_whole_is_found(logged: int, tamper: Tamper, team: Team) -> None:
    team.created_at -= TIME_TO_LOG
    team.save()
    _remove_all(tamper)

    with pytest.raises(CommandError, match=r"tampered with[.] There are teams, but no events"):
        _verify()


def test_an_audit_that_was_removed_whole_is_found_after_new_events_too(
    logged: int, tamper: Tamper, team: Team
) -> None:
    team.created_at -= 2 * TIME_TO_LOG
    team.save()
    _remove_all(tamper)

    _log_another(team)

    with pytest.raises(CommandError, match="older than the first event"):
        _verify()


def test_an_audit_that_no_job_has_logged_cannot_be_verified(team: Team) -> None:
    created_at = team.created_at - 2 * TIME_TO_LOG
    record("team.created", by=SYSTEM, of=team, team=team, at=created_at)

    with pytest.raises(CommandError, match=r"cannot be verified[.] It has no log") as error:
        _verify()
    assert error.value.returncode == 1
    assert "tampered" not in str(error.value)
    sweep.append_new(at=timezone.now())

    assert "1 entries, unbroken" in _verify()


def test_a_new_team_without_logged_events_raises_no_alarm(team: Team) -> None:
    assert _verify() == "The log: it has no entries yet.\n"


def test_a_log_that_was_removed_is_found(logged: int, tamper: Tamper, team: Team) -> None:
    for table in ("logentry", "logtile", "logtree", "logteam"):
        tamper(f"DELETE FROM accounts_{table}")  # noqa: S608 - made up above
    _log_another(team)

    with pytest.raises(CommandError, match="has no entry: it was inserted later, or its entry"):
        _verify()


def test_signatures_outlive_a_rotation_of_the_key(logged: int, team: Team, settings: Any) -> None:
    _verify()
    settings.WAKE_ENCRYPTION_KEYS = ["n" * 48, *settings.WAKE_ENCRYPTION_KEYS]
    _verify()
    call_command("rotate_encryption", stdout=StringIO())
    settings.WAKE_ENCRYPTION_KEYS = settings.WAKE_ENCRYPTION_KEYS[:1]

    _log_another(team)

    assert "10 entries, unbroken" in _verify()


def test_rotation_does_not_sign_what_was_changed(logged: int, tamper: Tamper) -> None:
    LogTree.objects.update(signature="a" * 64, verified_size=3)

    call_command("rotate_encryption", stdout=StringIO())

    with pytest.raises(CommandError, match="record of the last verification was changed"):
        _verify()
    with pytest.raises(CommandError, match="did not sign"):
        _verify("--all")


@pytest.fixture
def manifest(logged: int, make_manifest: Callable[[], Path]) -> Path:
    """Returns the manifest of a backup that was made when the log had nine entries."""
    return make_manifest()


def test_a_longer_log_agrees_with_the_manifest(manifest: Path, team: Team) -> None:
    _log_another(team)

    assert "The log: 10 entries, unbroken" in _verify("--manifest", str(manifest))


def test_the_manifest_reveals_a_log_that_was_set_back(
    manifest: Path, tamper: Tamper, team: Team
) -> None:
    tamper("DELETE FROM accounts_auditevent")
    for table in TABLES:
        tamper(f"DELETE FROM accounts_{table}")  # noqa: S608 - made up above
    _log_another(team)
    _verify()

    with pytest.raises(CommandError, match="has 1 entries, and had 9 when its head was stored"):
        _verify("--manifest", str(manifest))


def test_a_changed_manifest_is_refused(manifest: Path) -> None:
    content = json.loads(manifest.read_text())
    content["audit"]["log"] = f"0:{merkle.root([]).hex()}"
    manifest.write_text(json.dumps(content))

    with pytest.raises(CommandError, match="has signed"):
        _verify("--manifest", str(manifest))


def test_beat_schedules_the_sweep(logged: int, team: Team) -> None:
    record("lamp.lit", by=SYSTEM, of=team, team=team)

    extend_log()

    assert LogEntry.objects.count() == 10
    assert AuditEvent.objects.count() == 10
    assert LogEntry.objects.latest("pk").appended_at <= timezone.now()
