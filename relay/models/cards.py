"""Defines agent cards and caller keys."""

from __future__ import annotations

import re
import uuid
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from accounts.models import SINGLE_LINE, Agent, Team, User
from accounts.models.moves import closed_teams
from database.clock import database_now

MEDIA_TYPE = re.compile(r"[\w.+-]{1,64}/[\w.+-]{1,64}|[\w.+-]{1,64}/\*|\*/\*", re.ASCII)


LONGEST_RUN = 24 * 3600  # seconds that a run may take
MAX_CONCURRENCY = 100  # runs of an agent that may execute at the same time


class CallerKeyQuerySet(models.QuerySet["CallerKey"]):
    def for_person(self, user: User) -> CallerKeyQuerySet:
        return self.filter(team__memberships__user=user)

    def usable(self, at: Any) -> CallerKeyQuerySet:
        return self.filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=at), revoked_at__isnull=True
        )


class CallerKey(models.Model):
    """Lets a caller call agents over A2A with a key, `wk_call_`. Only its SHA-256 is stored. A
    caller key is never deleted, because the tasks that were sent with the key belong to it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="caller_keys")
    name = models.CharField(max_length=80, validators=[SINGLE_LINE])
    hint = models.CharField(max_length=24, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(default=database_now)
    issued_by = models.CharField(max_length=80, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = CallerKeyQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    def is_usable(self, at: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > at)


def check_media_type(text: str) -> None:
    if not MEDIA_TYPE.fullmatch(text):
        raise ValidationError(
            f"{text} is not a media type. Use one such as text/plain, or */* for any."
        )


def text_and_json() -> list[str]:
    return ["text/plain", "application/json"]


class CardQuerySet(models.QuerySet["Card"]):
    def published(self) -> CardQuerySet:
        """Leaves out archived agents, which cannot be called until they are restored, and agents of
        teams that move to another server."""
        published = self.filter(enabled=True, agent__archived_at__isnull=True)
        published = published.exclude(agent__team__in=closed_teams())
        return published.select_related("agent__team")

    def at(self, handle: Any, name: Any) -> CardQuerySet:
        """Returns the published card at `/@handle/name`."""
        return self.of_handle(handle).filter(agent__agent_id=name)

    def of_handle(self, handle: Any) -> CardQuerySet:
        return self.published().filter(agent__team__slug=handle)

    def of(self, agent: Agent) -> Card | None:
        """Returns the agent's card, published or not."""
        return self.filter(agent=agent).select_related("agent__team").first()

    def at_root(self) -> CardQuerySet:
        return self.published().filter(is_root=True)


class Card(models.Model):
    """Stores the card of an agent (A2A, "Agent Card"). An agent without one is not reachable over
    A2A."""

    class Access(models.TextChoices):
        PUBLIC = "public", "Anyone on the internet, without a key"
        KEY = "key", "Any caller key of the team"
        ALLOWLIST = "allowlist", "Selected caller keys"

    class ReplyPolicy(models.TextChoices):
        """Says whose message resumes a task that waits for input: people's or the caller's. A
        caller's message is never an approval."""

        OWNER = "owner", "People in the inbox"
        CALLER = "caller", "The caller"
        ANY = "any", "Whichever answers first"

    class Profile(models.TextChoices):
        BOTH = "both", "A2A 1.0 and 0.3"
        V1_0 = "1.0", "A2A 1.0"
        V0_3 = "0.3", "A2A 0.3"

    agent = models.OneToOneField(
        Agent, on_delete=models.CASCADE, primary_key=True, related_name="card"
    )
    description = models.TextField(blank=True, max_length=2_000)
    version = models.CharField(max_length=32, default="1.0.0", validators=[SINGLE_LINE])
    # Each skill is {"id", "name", "description", "tags", "examples"?}.
    skills = models.JSONField(default=list, blank=True)
    input_modes = models.JSONField(default=text_and_json)
    output_modes = models.JSONField(default=text_and_json)
    profile = models.CharField(max_length=4, choices=Profile, default=Profile.BOTH)
    access = models.CharField(max_length=9, choices=Access, default=Access.KEY)
    callers = models.ManyToManyField(CallerKey, blank=True, related_name="cards")
    reply_policy = models.CharField(max_length=6, choices=ReplyPolicy, default=ReplyPolicy.OWNER)
    # The time limit of one run of the agent's command, and how many runs may execute at the same
    # time.
    timeout_seconds = models.PositiveIntegerField(default=3_600)
    max_concurrency = models.PositiveSmallIntegerField(default=4)
    # True if the card is also served at the host's own /.well-known/agent-card.json.
    is_root = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=database_now)
    updated_at = models.DateTimeField(default=database_now)

    objects = CardQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_root"], condition=Q(is_root=True), name="one_card_at_the_root"
            )
        ]

    def __str__(self) -> str:
        return f"@{self.agent.team.slug}/{self.agent.agent_id}"

    def clean(self) -> None:
        for mode in [*self.input_modes, *self.output_modes]:
            check_media_type(mode)

    def accepts(self, caller: CallerKey | None) -> bool:
        """Returns whether this caller may call the agent. An anonymous caller is None."""
        if self.access == self.Access.PUBLIC:
            return True
        if caller is None or caller.team_id != self.agent.team_id:
            return False
        return self.access == self.Access.KEY or self.callers.filter(pk=caller.pk).exists()

    def takes(self, media_types: Any) -> bool:
        """Returns whether the card's input modes include all of these types. `*/*` and `text/*`
        are patterns."""
        return all(
            any(mode in {"*/*", kind, f"{kind.partition('/')[0]}/*"} for mode in self.input_modes)
            for kind in media_types
        )
