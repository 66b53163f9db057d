"""Defines agents, the ids that they may deliver under, their API keys and their signing secrets."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MinLengthValidator
from django.db import models
from django.db.models import Q

from accounts.models.people import Team
from database.clock import database_now
from pages.characters.look_alikes import look, mixes_scripts, nfc, scripts
from pages.characters.names import SINGLE_LINE, compose, visible


class AgentQuerySet(models.QuerySet["Agent"]):
    def active(self) -> AgentQuerySet:
        return self.filter(archived_at__isnull=True)

    def archived(self) -> AgentQuerySet:
        return self.filter(archived_at__isnull=False)


class Agent(models.Model):
    """Sends deliveries to its one team. An agent has keys, and a cursor for its sweeps."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="agents")
    agent_id = models.CharField(
        "agent id", max_length=128, validators=[MinLengthValidator(1), SINGLE_LINE, visible]
    )
    created_at = models.DateTimeField(default=database_now)
    paused_at = models.DateTimeField(null=True, blank=True)
    # An archived agent is also paused, so code that stops paused agents also stops archived ones.
    archived_at = models.DateTimeField(null=True, editable=False)
    # How many deliveries an hour each key of the agent may make, or null for the server's limit
    # (accounts/agents/hourly_limits.py).
    hourly_limit = models.PositiveIntegerField(
        "deliveries an hour",
        null=True,
        blank=True,
        help_text="From each of its keys; empty: as many as the server gives.",
    )
    # The last activity stamp, in microseconds since 1970. The stamp is an integer, because with
    # integers both databases can make and return the next stamp in a single UPDATE, which also
    # locks the row. The next stamp is the clock's time, or the last stamp plus one if that is
    # later.
    activity_us = models.BigIntegerField(default=0, editable=False)
    # A copy of the version of the team's rules. A delivery reads this copy together with the key
    # and the agent's stamp (docs/decisions/0044-rules-reach-a-delivery-with-its-key.md).
    rules_version = models.BigIntegerField(default=0, db_default=0, editable=False)

    objects = AgentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "agent_id"], name="one_agent_id_a_team"),
            models.CheckConstraint(
                condition=Q(archived_at__isnull=True) | Q(paused_at__isnull=False),
                name="archived_agents_are_paused",
            ),
            models.CheckConstraint(
                condition=Q(hourly_limit__gte=1), name="some_deliveries_an_hour"
            ),
        ]

    def __str__(self) -> str:
        return self.agent_id

    def clean(self) -> None:
        """Raises ValidationError for a new id that people could mistake for another one. Existing
        ids stay as they are."""
        if not self._state.adding:
            return
        compose(self, "agent_id")
        if mixes_scripts(self.agent_id):
            used = " and ".join(scripts(self.agent_id))
            raise ValidationError({"agent_id": f"Use letters of one script, not {used}."})
        if self.team_id and (other := Agent.looking_like(self.agent_id, team_id=self.team_id)):
            raise ValidationError({"agent_id": f"This looks like your agent {other}."})

    @classmethod
    def looking_like(cls, agent_id: str, *, team_id: int) -> Agent | None:
        """Returns an agent of the team whose id is different but looks the same."""
        others = cls.objects.filter(team=team_id).exclude(agent_id=agent_id).order_by("pk")
        same = look(agent_id)
        return next((agent for agent in others if look(agent.agent_id) == same), None)

    def may_claim(self, agent_id: str) -> bool:
        """Allows the agent's own id and the aliases that a person granted to the agent
        (docs/protocol.md, Identity), in composed or decomposed Unicode."""
        agent_id = nfc(agent_id)
        return agent_id == nfc(self.agent_id) or any(
            alias.covers(agent_id) for alias in self.claimed_ids.all()
        )


class ClaimedId(models.Model):
    """Lets an orchestrator deliver under an alias: an id, or a prefix that ends in `*`."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="claimed_ids")
    pattern = models.CharField(
        max_length=128,
        validators=[SINGLE_LINE],
        help_text="An agent id, or a prefix ending in *.",
    )
    created_at = models.DateTimeField(default=database_now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "pattern"], name="one_claim_an_agent")
        ]

    def __str__(self) -> str:
        return self.pattern

    def covers(self, agent_id: str) -> bool:
        pattern = nfc(self.pattern)
        if pattern.endswith("*"):
            return agent_id.startswith(pattern[:-1])
        return agent_id == pattern


def is_usable(at: Any) -> Q:
    """Returns the condition that a key works at this time."""
    return (Q(expires_at__isnull=True) | Q(expires_at__gt=at)) & Q(revoked_at__isnull=True)


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable(self, at: datetime) -> ApiKeyQuerySet:
        return self.filter(is_usable(at))

    def without_grants(self) -> ApiKeyQuerySet:
        """Leaves out the keys that clients got by signing in (accounts/models/oauth.py)."""
        return self.filter(grant__isnull=True)


class ApiKey(models.Model):
    """Proves an agent's identity. Only the key's SHA-256 is stored (accounts/agents/keys.py mints
    and checks it)."""

    class Mode(models.TextChoices):
        LIVE = "live", "Live"
        TEST = "test", "Test"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="keys")
    mode = models.CharField(max_length=4, choices=Mode, default=Mode.LIVE, db_column="lane")
    hint = models.CharField(max_length=24, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(default=database_now)
    issued_by = models.CharField(max_length=80, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # When the quota is full again, in microseconds since 1970 (accounts/agents/quota.py).
    quota_us = models.BigIntegerField(default=0, editable=False)
    # When the audit last recorded that the key exceeded its quota.
    slowed_at = models.DateTimeField(null=True, editable=False)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return self.hint

    def is_usable(self, at: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > at)


class SigningSecretQuerySet(models.QuerySet["SigningSecret"]):
    def in_use(self) -> SigningSecretQuerySet:
        """Returns the secrets, oldest first. The oldest one signs `X-Wake-Signature`; all of them
        sign `webhook-signature`."""
        return self.filter(retired_at__isnull=True).order_by("created_at", "pk")


class SigningSecret(models.Model):
    """Stores an encrypted `whsec_` secret, which signs an agent's callbacks. An agent has two
    during a rotation."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="signing_secrets")
    ciphertext = models.TextField(editable=False)
    created_at = models.DateTimeField(default=database_now)
    retired_at = models.DateTimeField(null=True, blank=True)

    objects = SigningSecretQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["agent", "created_at"],
                condition=Q(retired_at__isnull=True),
                name="signing_secrets_in_use",
            )
        ]

    def __str__(self) -> str:
        return f"Signing secret of {self.agent}"
