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

from accounts.audit_models import AuditEvent, AuditHead, AuditSeal, SealedUntil

__all__ = [
    "SINGLE_LINE",
    "Agent",
    "ApiKey",
    "ApiKeyQuerySet",
    "AuditEvent",
    "AuditHead",
    "AuditSeal",
    "ClaimedId",
    "Invitation",
    "InvitationQuerySet",
    "Membership",
    "MembershipQuerySet",
    "RecoveryCode",
    "ResetRequest",
    "SealedUntil",
    "SecondFactor",
    "SecondFactorQuerySet",
    "Session",
    "SigningSecret",
    "SigningSecretQuerySet",
    "Team",
    "User",
    "UserManager",
]

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

    def that_own(self) -> MembershipQuerySet:
        """Who was deactivated can do nothing for the team, and so does not own it."""
        return self.filter(role=Membership.Role.OWNER, user__is_active=True)


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


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self, at: datetime) -> InvitationQuerySet:
        """Those that let somebody in: one of a person who no longer owns the team does not, or an
        owner who was removed would have left a door behind."""
        theirs = Membership.objects.that_own().filter(
            team=models.OuterRef("team"), user=models.OuterRef("invited_by")
        )
        unused = self.filter(accepted_at__isnull=True, revoked_at__isnull=True, expires_at__gt=at)
        return unused.filter(models.Exists(theirs))

    def to_be_mailed(self, at: datetime) -> InvitationQuerySet:
        return self.open(at).filter(mail_due_at__lte=at).order_by("mail_due_at")


class Invitation(models.Model):
    """Lets one person into a team, once; only the SHA-256 of its link is kept
    (accounts/invitations.py)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Membership.Role)
    email = models.EmailField(blank=True)
    # Until it is mailed, of a text that nobody has: whoever mails it makes the link.
    digest = models.CharField(max_length=64, unique=True, editable=False)
    invited_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    mail_due_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    objects = InvitationQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["mail_due_at"],
                condition=Q(mail_due_at__isnull=False),
                name="invitations_to_be_mailed",
            )
        ]

    def __str__(self) -> str:
        return f"Invitation as {self.role}"


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
    # How many deliveries an hour each of its keys may make, where its team allows fewer than the
    # server (accounts/limits.py).
    hourly_limit = models.PositiveIntegerField(
        "deliveries an hour",
        null=True,
        blank=True,
        help_text="From each of its keys; empty: as many as the server gives.",
    )
    # The last activity stamp handed out, in microseconds since 1970. An integer, because both
    # databases can take the later of it and the clock, add one and return it in a single UPDATE
    # that also locks the row.
    activity_us = models.BigIntegerField(default=0, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "agent_id"], name="one_agent_id_a_team"),
            models.CheckConstraint(
                condition=Q(hourly_limit__gte=1), name="some_deliveries_an_hour"
            ),
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
