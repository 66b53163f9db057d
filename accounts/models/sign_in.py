"""Defines sessions, attempts to sign in, second factors, password resets and changes of address."""

from __future__ import annotations

from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import Q

from accounts.models.people import User
from database.clock import database_now


class SecondFactorQuerySet(models.QuerySet["SecondFactor"]):
    def of(self, user: User) -> SecondFactor | None:
        return self.filter(user=user).first()


class SecondFactor(models.Model):
    """Stores the secret of a person's authenticator app. A person without this row is not asked for
    a code (accounts/sign_in/two_step/second_factor.py)."""

    user = models.OneToOneField(
        User, on_delete=models.CASCADE, primary_key=True, related_name="second_factor"
    )
    ciphertext = models.TextField(editable=False)
    created_at = models.DateTimeField(default=database_now)
    # The time step of the last used code, because no code works twice.
    last_step = models.BigIntegerField(editable=False)
    # When all attempts are available again, in microseconds since 1970, as in
    # accounts/agents/quota.py.
    tries_us = models.BigIntegerField(default=0, editable=False)

    objects = SecondFactorQuerySet.as_manager()

    def __str__(self) -> str:
        return f"Second factor of {self.user}"


class RecoveryCode(models.Model):
    """Stores a code that replaces the app's code once. Only the SHA-256 of the code is stored."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64, editable=False)
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"Recovery code of {self.user}"


class ResetRequest(models.Model):
    """Records that someone requested a new password for this e-mail address. The worker looks up
    the person, so that the page takes the same time for an unknown address."""

    email = models.CharField(max_length=254)
    address = models.CharField(max_length=45, blank=True)
    asked_at = models.DateTimeField()
    due_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"Reset asked for {self.email}"


class AddressChange(models.Model):
    """Records that a person requested another e-mail address. A link in a mail to that address
    confirms the change. Then a mail to the old address has a link that undoes the change. Only the
    SHA-256 of the current link is stored (accounts/sign_in/addresses/changes.py)."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    old_email = models.EmailField()
    new_email = models.EmailField()
    # Before the mail is sent, this is the digest of a text that no one has.
    digest = models.CharField(max_length=64, unique=True, editable=False)
    asked_at = models.DateTimeField()
    mail_due_at = models.DateTimeField(null=True)
    confirmed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["mail_due_at"],
                condition=Q(mail_due_at__isnull=False),
                name="address_changes_to_be_mailed",
            )
        ]

    def __str__(self) -> str:
        return f"New address of {self.user}"


class SignInAttempts(models.Model):
    """Counts the attempts at passwords of one network, person or known browser
    (accounts/limits/attempts.py)."""

    # A keyed hash, because the table must not collect the texts that people typed as an e-mail
    # address.
    digest = models.CharField(max_length=64, primary_key=True)
    # When all attempts are available again, in microseconds since 1970.
    full_us = models.BigIntegerField(db_index=True)

    def __str__(self) -> str:
        return f"Attempts {self.digest[:8]}"


class Session(AbstractBaseSession):
    """Stores a browser's session. The row names its person, so that people can list their own
    sessions. The key signs its holder in, so no page shows it."""

    # There is no constraint in the database. Django's session store takes any IntegrityError to
    # mean that the session's key exists already.
    user = models.ForeignKey(
        User, on_delete=models.CASCADE, null=True, related_name="+", db_constraint=False
    )

    class Meta(AbstractBaseSession.Meta):
        default_permissions = ()
