"""An agent has one signing secret, or two during a rotation. Secrets are encrypted at rest."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents import signing_secrets
from accounts.agents.signing_secrets import SecretUnreadable, secrets_of
from accounts.audit import SYSTEM
from accounts.models import Agent, AuditEvent, SigningSecret, Team


@pytest.fixture
def bare(team: Team) -> Agent:
    """Creates an agent that has no secret yet."""
    return Agent.objects.create(team=team, agent_id="bare")


def test_a_secret_is_made_once_and_returned_once(bare: Agent) -> None:
    text = signing_secrets.ensure_secret(bare, by=SYSTEM)

    assert text is not None
    assert signing_secrets.ensure_secret(bare, by=SYSTEM) is None
    assert secrets_of(bare.pk) == [text]
    assert AuditEvent.objects.filter(event="secret.issued").count() == 1


def test_a_secret_is_a_prefix_and_32_random_bytes(bare: Agent) -> None:
    """ "`whsec_` and 32 random bytes in base64, so that both ways of keying work" """
    text = signing_secrets.ensure_secret(bare, by=SYSTEM) or ""

    assert text.startswith("whsec_")
    assert len(base64.b64decode(text.removeprefix("whsec_"), validate=True)) == 32


def test_a_secret_is_encrypted_at_rest(bare: Agent) -> None:
    text = signing_secrets.ensure_secret(bare, by=SYSTEM) or ""

    stored = str(SigningSecret.objects.values().get()) + str(list(AuditEvent.objects.values()))

    assert text not in stored
    assert text.removeprefix("whsec_") not in stored
    assert text not in str(SigningSecret.objects.get())


def test_a_rotation_keeps_the_old_one_first_until_switch_now(agent: Agent) -> None:
    """ "during a rotation this header stays with the old one until "switch now" " """
    (old,) = secrets_of(agent.pk)

    new = signing_secrets.rotate_secret(agent, by=SYSTEM)
    assert secrets_of(agent.pk) == [old, new]
    at = timezone.now()
    signing_secrets.switch_secret(agent, by=SYSTEM, at=at)

    assert secrets_of(agent.pk) == [new]
    assert SigningSecret.objects.exclude(retired_at=None).get().retired_at == at
    signing_secrets.switch_secret(agent, by=SYSTEM, at=at)
    assert AuditEvent.objects.filter(event="secret.switched").count() == 1


def test_switching_where_there_is_none_changes_nothing(bare: Agent) -> None:
    signing_secrets.switch_secret(bare, by=SYSTEM, at=timezone.now())

    assert secrets_of(bare.pk) == []


def test_encryption_keys_are_rotated_by_putting_a_new_one_first(
    agent: Agent, settings: Any
) -> None:
    (text,) = secrets_of(agent.pk)

    settings.WAKE_ENCRYPTION_KEYS = ["a new one", *settings.WAKE_ENCRYPTION_KEYS]
    rotated = signing_secrets.rotate_secret(agent, by=SYSTEM)

    assert secrets_of(agent.pk) == [text, rotated]
    settings.WAKE_ENCRYPTION_KEYS = ["a new one"]
    with pytest.raises(SecretUnreadable, match="WAKE_ENCRYPTION_KEYS"):
        secrets_of(agent.pk)


def test_each_agent_has_its_own(agent: Agent, bare: Agent) -> None:
    signing_secrets.ensure_secret(bare, by=SYSTEM)

    assert secrets_of(agent.pk) != secrets_of(bare.pk)
