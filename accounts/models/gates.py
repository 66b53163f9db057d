"""Defines gate keys, with which a service that acts on approvals claims them."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from django.db import models

from accounts.models.agents import Agent, is_usable
from accounts.models.people import Team
from database.clock import database_now
from pages.characters.names import SINGLE_LINE


class GateQuerySet(models.QuerySet["Gate"]):
    def usable(self, at: datetime) -> GateQuerySet:
        return self.filter(is_usable(at))

    def of_teams(self, teams: Any) -> GateQuerySet:
        """Returns the gates with their agents, newest first. Makes two queries."""
        rows = self.filter(team__in=teams).prefetch_related("agents")
        return rows.order_by("-created_at", "pk")


class Gate(models.Model):
    """Stores the key of a service, such as a payment API or a deploy job. The service claims the
    approvals of those agents that an owner chose for it. Only the key's SHA-256 is stored
    (accounts/agents/gates.py). A removed agent leaves the list."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="gates")
    name = models.CharField(max_length=80, validators=[SINGLE_LINE])
    agents: models.ManyToManyField[Agent, models.Model] = models.ManyToManyField(
        Agent, related_name="gates"
    )
    hint = models.CharField(max_length=24, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(default=database_now)
    issued_by = models.CharField(max_length=80, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = GateQuerySet.as_manager()

    class Meta:
        verbose_name = "gate key"

    def __str__(self) -> str:
        return self.name

    def is_usable(self, at: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > at)
