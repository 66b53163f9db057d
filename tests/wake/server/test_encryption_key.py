"""A server with another encryption key does not start, and names the setting to correct."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core import checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from accounts.agents import signing_secrets
from accounts.audit import SYSTEM
from accounts.models import Agent, SigningSecret, Team
from tests.fixtures.migrated import migrated_folder
from tests.wake.server.up import ROOT, clean_environment, free_port

OLD, NEW, OTHER = ("o" * 48, "n" * 48, "x" * 48)


@pytest.fixture
def encrypted_with_old(settings: Any, team: Team) -> Any:
    """Returns the settings of a server whose only signing secret is encrypted with OLD."""
    settings.WAKE_ENCRYPTION_KEYS = [OLD]
    agent = Agent.objects.create(team=team, agent_id="research-01")
    signing_secrets.ensure_secret(agent, by=SYSTEM)
    return settings


def key_errors() -> list[str]:
    messages = checks.run_checks(tags=[checks.Tags.database], databases=["default"])
    return [message.id or "" for message in messages]


@pytest.mark.django_db
def test_another_key_is_refused_and_the_hint_says_what_to_do(encrypted_with_old: Any) -> None:
    encrypted_with_old.WAKE_ENCRYPTION_KEYS = [OTHER]

    with pytest.raises(SystemCheckError, match="WAKE_ENCRYPTION_KEYS") as refused:
        call_command("check", databases=["default"])

    assert "wake.E006" in str(refused.value)
    assert "Put the key that this database was last used with back" in str(refused.value)


@pytest.mark.django_db
def test_migrate_is_refused_before_it_changes_anything(encrypted_with_old: Any) -> None:
    encrypted_with_old.WAKE_ENCRYPTION_KEYS = [OTHER]

    with pytest.raises(SystemCheckError, match=r"wake\.E006"):
        call_command("migrate", verbosity=0, skip_checks=False)


@pytest.mark.django_db
@pytest.mark.parametrize("keys", [[OLD], [NEW, OLD]])
def test_the_same_key_and_a_rotated_list_are_accepted(
    encrypted_with_old: Any, keys: list[str]
) -> None:
    encrypted_with_old.WAKE_ENCRYPTION_KEYS = keys

    assert key_errors() == []


@pytest.mark.django_db
def test_a_key_that_was_removed_too_early_is_a_warning(encrypted_with_old: Any) -> None:
    encrypted_with_old.WAKE_ENCRYPTION_KEYS = [NEW, OLD]
    signing_secrets.rotate_secret(Agent.objects.get(), by=SYSTEM)

    encrypted_with_old.WAKE_ENCRYPTION_KEYS = [NEW]

    assert key_errors() == ["wake.W004"]


@pytest.mark.django_db
def test_a_new_server_has_nothing_to_decrypt(team: Team) -> None:
    assert not SigningSecret.objects.exists()
    assert key_errors() == []


def manage(*words: str, data: Path, key: str) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(
        WAKE_DATA=str(data), WAKE_ENCRYPTION_KEYS=key, PORT=str(free_port())
    )
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def data_with_old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = migrated_folder(tmp_path_factory.mktemp("server") / "data")
    assert manage("issue_key", "research-01", data=data, key=OLD).returncode == 0
    return data


@pytest.mark.once
@pytest.mark.system
@pytest.mark.parametrize("role", ["web", "stream", "worker", "beat", ""])
def test_no_role_starts_with_another_key(role: str, data_with_old: Path) -> None:
    done = manage("up", *([role] if role else []), data=data_with_old, key=OTHER)

    assert done.returncode == 1
    assert "wake.E006" in done.stderr
