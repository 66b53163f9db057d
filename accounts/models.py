"""Who there is: people and their teams, agents and their keys, and the record of what each of them
did."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.sessions.base_session import AbstractBaseSession
from django.core.validators import MinLengthValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac

SINGLE_LINE = RegexValidator(
    r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z", "Control characters are not allowed here."
)


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **extra: Any) -> User:
        """The display name is at first the local part of the address."""
        email = email.strip().lower()
        extra.setdefault("display_name", email.partition("@")[0][:80])
        user = self.model(email=email, **extra)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> User:
        return self.create_user(email, password, is_staff=True, is_superuser=True, **extra)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=(username or "").strip().lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person; they sign in by e-mail and are shown to others by display name."""

    email = models.EmailField(unique=True)
    display_name = models.CharField(max_length=80, validators=[SINGLE_LINE])
    time_zone = models.CharField(max_length=64, default="UTC")
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField("may enter /admin/", default=False)
    date_joined = models.DateTimeField(default=timezone.now)
    # How often they signed out everywhere: each time, every session they had stops fitting.
    session_epoch = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_any_case")]

    def __str__(self) -> str:
        return self.display_name

    def clean(self) -> None:
        self.email = self.email.strip().lower()

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Django compares it at each request: a new password ends every session, and so does a new
        epoch."""
        value = f"{self.session_epoch} {self.password}"
        return salted_hmac("accounts.User", value, secret=secret, algorithm="sha256").hexdigest()


class SecondFactorQuerySet(models.QuerySet["SecondFactor"]):
    def of(self, user: User) -> SecondFactor | None:
        return self.filter(user=user).first()


class SecondFactor(models.Model):
    """What makes the codes of a person's authenticator; no row, no second step
    (accounts/second_factor.py)."""

    user = models.OneToOneField(
        User, on_delete=models.CASCADE, primary_key=True, related_name="second_factor"
    )
    ciphertext = models.TextField(editable=False)
    created_at = models.DateTimeField(default=timezone.now)
    # The half minute whose code was used last: none works twice.
    last_step = models.BigIntegerField(editable=False)
    # When all tries will be back, in microseconds since 1970, as in accounts/quota.py.
    tries_us = models.BigIntegerField(default=0, editable=False)

    objects = SecondFactorQuerySet.as_manager()

    def __str__(self) -> str:
        return f"Second factor of {self.user}"


class RecoveryCode(models.Model):
    """Works once, in the place of a code; only its SHA-256 is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64, editable=False)
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"Recovery code of {self.user}"


class ResetRequest(models.Model):
    """Somebody wrote this address because a password was lost. Who it belongs to is looked up by
    the worker, so that the page takes as long for an address that nobody has."""

    email = models.CharField(max_length=254)
    address = models.CharField(max_length=45, blank=True)
    asked_at = models.DateTimeField()
    due_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"Reset asked for {self.email}"


class Session(AbstractBaseSession):
    """What a browser's cookie stands for; the row says whose it is, so that people find their
    own. Whoever holds the key is signed in: it is shown to nobody."""

    # No constraint: Django takes a row that cannot be stored for a key that is taken.
    user = models.ForeignKey(
        User, on_delete=models.CASCADE, null=True, related_name="+", db_constraint=False
    )

    class Meta(AbstractBaseSession.Meta):
        default_permissions = ()


class Team(models.Model):
    """People who share an inbox; the slug is also the team's A2A handle."""

    slug = models.SlugField(max_length=50, unique=True)
    name = models.CharField(max_length=80, validators=[SINGLE_LINE])
    created_at = models.DateTimeField(default=timezone.now)
    people = models.ManyToManyField(User, through="Membership", related_name="teams")

    def __str__(self) -> str:
        return self.name


class MembershipQuerySet(models.QuerySet["Membership"]):
    def that_answer(self) -> MembershipQuerySet:
        return self.filter(role__in=[Membership.Role.OWNER, Membership.Role.REVIEWER])


class Membership(models.Model):
    class Role(models.TextChoices):
        OWNER = "owner", "Owner: everything"
        REVIEWER = "reviewer", "Reviewer: answers"
        READER = "reader", "Reader: reads"

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.REVIEWER)
    created_at = models.DateTimeField(default=timezone.now)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="one_membership_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team} ({self.role})"


class Agent(models.Model):
    """A registered sender; its deliveries, its cursor and its keys belong to it, and it to one
    team."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="agents")
    agent_id = models.CharField(
        "agent id", max_length=128, validators=[MinLengthValidator(1), SINGLE_LINE]
    )
    created_at = models.DateTimeField(default=timezone.now)
    paused_at = models.DateTimeField(null=True, blank=True)
    # The last activity stamp handed out, in microseconds since 1970. An integer, because both
    # databases can take the later of it and the clock, add one and return it in a single UPDATE
    # that also locks the row.
    activity_us = models.BigIntegerField(default=0, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "agent_id"], name="one_agent_id_a_team")
        ]

    def __str__(self) -> str:
        return self.agent_id

    def may_claim(self, agent_id: str) -> bool:
        """Its own id, or one that a person granted to it (PROTOCOL.md, Identity)."""
        return agent_id == self.agent_id or any(
            grant.covers(agent_id) for grant in self.claimed_ids.all()
        )


class ClaimedId(models.Model):
    """An id, or a prefix ending in `*`, under which an orchestrator may deliver."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="claimed_ids")
    pattern = models.CharField(
        max_length=128,
        validators=[SINGLE_LINE],
        help_text="An agent id, or a prefix ending in *.",
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "pattern"], name="one_claim_an_agent")
        ]

    def __str__(self) -> str:
        return self.pattern

    def covers(self, agent_id: str) -> bool:
        if self.pattern.endswith("*"):
            return agent_id.startswith(self.pattern[:-1])
        return agent_id == self.pattern


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable(self, at: datetime) -> ApiKeyQuerySet:
        return self.filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=at), revoked_at__isnull=True
        )


class ApiKey(models.Model):
    """What proves an agent's identity; only its SHA-256 is kept (accounts/keys.py mints and
    checks)."""

    class Lane(models.TextChoices):
        LIVE = "live", "Live"
        TEST = "test", "Test"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="keys")
    lane = models.CharField(max_length=4, choices=Lane, default=Lane.LIVE)
    hint = models.CharField(max_length=24, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now)
    issued_by = models.CharField(max_length=80, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # When the bucket will be full again, in microseconds since 1970 (accounts/quota.py).
    quota_us = models.BigIntegerField(default=0, editable=False)
    # When it was last written down that it delivered more than it may.
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
        """Oldest first: the first signs `X-Wake-Signature`, all of them sign
        `webhook-signature`."""
        return self.filter(retired_at__isnull=True).order_by("created_at", "pk")


class SigningSecret(models.Model):
    """The `whsec_` secret that signs an agent's callbacks, encrypted; two during a rotation."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="signing_secrets")
    ciphertext = models.TextField(editable=False)
    created_at = models.DateTimeField(default=timezone.now)
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


class AuditEvent(models.Model):
    """Who did what to what. It copies ids and names and points at nothing, so nothing can hold or
    change it."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(default=timezone.now)
    team_id = models.BigIntegerField(null=True)
    event = models.CharField(max_length=40)
    actor_kind = models.CharField(max_length=8)
    actor_id = models.CharField(max_length=64, blank=True)
    actor_name = models.CharField(max_length=150, blank=True)
    object_kind = models.CharField(max_length=20)
    object_id = models.CharField(max_length=64)
    object_name = models.CharField(max_length=150, blank=True)
    address = models.CharField(max_length=45, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["team_id", "-at", "-id"], name="audit_of_a_team_by_time"),
            models.Index(fields=["object_id", "id"], name="audit_of_an_object"),
        ]
        # Nobody changes or removes what happened, in the admin neither.
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.actor_name} {self.event} {self.object_name}"


class AuditSeal(models.Model):
    """One link of a chain of events: each says what all before it were (accounts/seals.py)."""

    event_id = models.BigIntegerField(unique=True)
    # The id of the team; 0 for what belongs to none, such as sign-ins.
    chain = models.BigIntegerField()
    position = models.BigIntegerField()
    hash = models.CharField(max_length=64)
    sealed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chain", "position"], name="one_seal_a_position")
        ]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.position} of {self.chain}: {self.hash}"


class AuditHead(models.Model):
    """Where a chain ends, as whoever sealed it last knew."""

    chain = models.BigIntegerField(primary_key=True)
    position = models.BigIntegerField()
    hash = models.CharField(max_length=64)
    sealed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.position}:{self.hash}"


class SealedUntil(models.Model):
    """The one row that says up to which event everything is sealed; whoever seals holds it."""

    event_id = models.BigIntegerField(default=0)
    # The newest event of some time ago, and which transactions may have been writing others then.
    candidate = models.BigIntegerField(default=0)
    writers = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"Sealed until {self.event_id}"
