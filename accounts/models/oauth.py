"""Defines what a team allows to clients that sign in by OAuth, and what people granted them."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import Q
from oauth2_provider.models import Application, DeviceGrant

from accounts.models.agents import Agent, ApiKey
from accounts.models.people import Team, User
from database.clock import database_now
from pages.characters.names import SINGLE_LINE


class ClientPolicy(models.Model):
    """Says who may connect clients to the team's agents, and which clients. A team without this row
    leaves it to its owners, and allows any client."""

    class Who(models.TextChoices):
        OWNERS = "owners", "Owners"
        REVIEWERS = "reviewers", "Owners and reviewers"
        NO_ONE = "no_one", "No one"

    team = models.OneToOneField(
        Team, on_delete=models.CASCADE, primary_key=True, related_name="client_policy"
    )
    who = models.CharField(max_length=10, choices=Who, default=Who.OWNERS)
    # The hosts that a client may send people back to, one on each line. Empty: any host.
    hosts = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"Clients of {self.team}"


class OAuthGrantQuerySet(models.QuerySet["OAuthGrant"]):
    def open(self, at: datetime) -> OAuthGrantQuerySet:
        """Returns the grants that have not ended. Their clients may be asleep, without an access
        token that works."""
        not_over = Q(ends_at__isnull=True) | Q(ends_at__gt=at)
        return self.filter(not_over, key__revoked_at__isnull=True)

    def of_agent(self, agent: Agent) -> OAuthGrantQuerySet:
        return self.filter(key__agent=agent).select_related("key__agent")

    def of_person(self, person: User) -> OAuthGrantQuerySet:
        """Returns the grants that this person gave, in all teams."""
        return self.filter(person=person).select_related("key__agent")


class OAuthGrant(models.Model):
    """Stores what a person granted to a client: that it delivers as one agent. The grant is a key
    of that agent. The key's digest is the SHA-256 of the client's current access token, and the key
    expires with this token. A refreshed token takes its place
    (docs/decisions/0084-a-grant-is-a-key.md)."""

    key = models.OneToOneField(
        ApiKey, on_delete=models.CASCADE, primary_key=True, related_name="grant"
    )
    # Null once the client's registration was deleted.
    application = models.ForeignKey(
        Application, on_delete=models.SET_NULL, null=True, related_name="agent_grants"
    )
    client_name = models.CharField(max_length=80, validators=[SINGLE_LINE])
    # The host that the client sends people back to, or its machine for a terminal.
    client_host = models.CharField(max_length=255)
    person = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="grants")
    created_at = models.DateTimeField(default=database_now)
    # When the client must ask again, or null for never.
    ends_at = models.DateTimeField(null=True)
    # The SHA-256 of the authorization code. A code that comes a second time ends the grant.
    code_digest = models.CharField(max_length=64, unique=True, editable=False)
    # The family of the refresh tokens. Null until the client has exchanged its code.
    family = models.UUIDField(unique=True, null=True, editable=False)

    objects = OAuthGrantQuerySet.as_manager()

    def __str__(self) -> str:
        return self.client_name

    @property
    def is_exchanged(self) -> bool:
        return self.family is not None


class DeviceSignIn(models.Model):
    """Stores what a terminal said of itself when it asked for a code, and who approved it for which
    agent (RFC 8628). The row of django-oauth-toolkit has the codes and the time. Both are deleted
    when the terminal has its key."""

    device_grant = models.OneToOneField(
        DeviceGrant, on_delete=models.CASCADE, primary_key=True, related_name="sign_in"
    )
    machine = models.CharField(max_length=80, blank=True, validators=[SINGLE_LINE])
    proposed_id = models.CharField(max_length=128, blank=True, validators=[SINGLE_LINE])
    address = models.CharField(max_length=45, blank=True)
    created_at = models.DateTimeField(default=database_now)
    last_asked_at = models.DateTimeField(null=True)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, null=True, related_name="+")
    person = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+")
    # When the key will expire, or null for never.
    ends_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.machine
