"""Defines people, their teams, and invitations to a team."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from database.clock import database_now
from pages.characters.names import SINGLE_LINE, compose, visible


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **extra: Any) -> User:
        """Creates a person. At first, the display name is the local part of the address."""
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
    """Stores a person, who signs in by e-mail. Other people see the display name."""

    email = models.EmailField(unique=True)
    display_name = models.CharField(max_length=80, validators=[SINGLE_LINE, visible])
    time_zone = models.CharField(max_length=64, default="UTC")
    # While this is null, Wake may adopt the time zone of the person's browser.
    time_zone_chosen_at = models.DateTimeField(null=True, editable=False)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField("may enter /admin/", default=False)
    # The default is not database_now, because Django's system checks create a User even while the
    # database is away.
    date_joined = models.DateTimeField(default=timezone.now)
    # Signing out everywhere increases this number by one, and sessions with a lower number are no
    # longer valid.
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
        compose(self, "display_name")

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Returns a hash of the password and the epoch. Django compares the hash at each request,
        so a change of either one ends every session."""
        value = f"{self.session_epoch} {self.password}"
        return salted_hmac("accounts.User", value, secret=secret, algorithm="sha256").hexdigest()

    def fits_session_auth_hash(self, given: str) -> bool:
        """Returns whether `given` is this person's hash with the newest secret key, or with an
        older one that still counts (SECRET_KEY_FALLBACKS)."""
        hashes = [self.get_session_auth_hash(), *self.get_session_auth_fallback_hash()]
        return any(constant_time_compare(given, each) for each in hashes)


class Team(models.Model):
    """Groups the people who share an inbox. The slug is also the team's A2A handle."""

    slug = models.SlugField(max_length=50, unique=True)
    name = models.CharField(max_length=80, validators=[SINGLE_LINE, visible])
    created_at = models.DateTimeField(default=database_now)
    # Members without a second factor can do nothing in the team until they set one up.
    second_factor_required_at = models.DateTimeField(null=True, editable=False)
    # Whether approving an irreversible delivery needs the passkey of a person
    # (docs/decisions/0078-a-person-signs-an-answer.md).
    signs_irreversible = models.BooleanField(default=False, db_default=False, editable=False)
    # Increases with each change of the team's assignment rules, in microseconds since 1970. The
    # version is 0 until the team creates its first rule.
    rules_version = models.BigIntegerField(default=0, db_default=0, editable=False)
    people = models.ManyToManyField(User, through="Membership", related_name="teams")

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        compose(self, "name")


class MembershipQuerySet(models.QuerySet["Membership"]):
    """Leaves out deactivated people, because they can do nothing for the team."""

    def that_answer(self) -> MembershipQuerySet:
        roles = [Membership.Role.OWNER, Membership.Role.REVIEWER]
        return self.filter(role__in=roles, user__is_active=True)

    def that_own(self) -> MembershipQuerySet:
        return self.filter(role=Membership.Role.OWNER, user__is_active=True)


class Membership(models.Model):
    class Role(models.TextChoices):
        OWNER = "owner", "Owner: everything"
        REVIEWER = "reviewer", "Reviewer: answers"
        READER = "reader", "Reader: reads"

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.REVIEWER)
    # True if the membership comes from the person's groups at the sign-in provider. Each sign-in
    # updates or removes such a membership (accounts/sign_in/oidc/groups.py).
    from_groups = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(default=database_now)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="one_membership_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team} ({self.role})"


class AbsenceQuerySet(models.QuerySet["Absence"]):
    def current(self, at: datetime) -> AbsenceQuerySet:
        """Returns the absences that have not ended yet."""
        return self.filter(until__gt=at)


class Absence(models.Model):
    """Records that a person is away, and who gets their assignments meanwhile."""

    user = models.OneToOneField(
        User, on_delete=models.CASCADE, primary_key=True, related_name="absence"
    )
    until = models.DateTimeField()
    deputy = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")

    objects = AbsenceQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.user_id} until {self.until}"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self, at: datetime) -> InvitationQuerySet:
        """Returns the invitations that still work. An invitation ends when its creator no longer
        owns the team, so that a removed owner cannot come back through it."""
        inviter = Membership.objects.that_own().filter(
            team=models.OuterRef("team"), user=models.OuterRef("invited_by")
        )
        unused = self.filter(accepted_at__isnull=True, revoked_at__isnull=True, expires_at__gt=at)
        return unused.filter(models.Exists(inviter))

    def to_be_mailed(self, at: datetime) -> InvitationQuerySet:
        return self.open(at).filter(mail_due_at__lte=at).order_by("mail_due_at")


class Invitation(models.Model):
    """Lets one person join a team, once. Only the SHA-256 of its link is stored
    (accounts/access/invitations.py)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Membership.Role)
    email = models.EmailField(blank=True)
    # Before the mail is sent, this is the digest of a text that no one has. The worker that sends
    # the mail creates the link.
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
