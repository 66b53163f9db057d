"""Defines the accounts and groups that the company's directory sends by SCIM (RFC 7643)."""

from __future__ import annotations

import unicodedata
import uuid
from typing import Any

from django.db import models
from django.db.models import Q

from accounts.models.people import User
from database.clock import database_now


def user_key_of(user_name: str) -> str:
    """Returns the form of a `userName` that comparisons use, because its case does not count
    (RFC 7643, 4.1.1)."""
    composed = unicodedata.normalize("NFC", user_name)
    return unicodedata.normalize("NFC", composed.lower())


class DirectoryAccountQuerySet(models.QuerySet["DirectoryAccount"]):
    def present(self) -> DirectoryAccountQuerySet:
        """Leaves out the accounts that the directory deleted."""
        return self.filter(deleted_at__isnull=True)


class DirectoryAccount(models.Model):
    """Stores an account of the company's directory as the directory describes it. The account
    controls one person, once it is connected to them (accounts/access/directory.py). The directory
    changes nothing else about the person."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # A deleted account stays connected to its person, without their names and addresses. So another
    # account cannot get hold of the person by an address that has a new owner.
    user = models.OneToOneField(
        User, on_delete=models.CASCADE, null=True, related_name="directory_account"
    )
    user_name = models.CharField(max_length=255)
    user_key = models.CharField(max_length=765, editable=False)  # lower case may be longer
    # The directory's own id of the account, or empty.
    external_id = models.CharField(max_length=255, blank=True)
    display_name = models.CharField(max_length=255, blank=True)
    formatted_name = models.CharField(max_length=255, blank=True)
    given_name = models.CharField(max_length=255, blank=True)
    family_name = models.CharField(max_length=255, blank=True)
    # A list of objects with `value`, `type` and `primary`.
    emails: models.JSONField[Any] = models.JSONField(default=list, blank=True)
    # Null if the directory does not say. Then the person stays as they are.
    is_active = models.BooleanField(null=True)
    created_at = models.DateTimeField(default=database_now)
    changed_at = models.DateTimeField(default=database_now)
    deleted_at = models.DateTimeField(null=True)
    # When this account deactivated its person. The directory reactivates only such people, and none
    # whom an administrator deactivated.
    deactivated_person_at = models.DateTimeField(null=True)

    objects = DirectoryAccountQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user_key"],
                condition=Q(deleted_at__isnull=True),
                name="directory_user_name_once",
            ),
            models.UniqueConstraint(
                fields=["external_id"],
                condition=Q(deleted_at__isnull=True) & ~Q(external_id=""),
                name="directory_external_id_once",
            ),
        ]

    def __str__(self) -> str:
        return self.user_name or self.external_id


class DirectoryGroup(models.Model):
    """Stores a group of the company's directory. WAKE_OIDC_GROUPS says which team and role a group
    gives, by its name or by the directory's own id."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    display_name = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True)
    members: models.ManyToManyField[DirectoryAccount, models.Model] = models.ManyToManyField(
        DirectoryAccount, related_name="groups"
    )
    created_at = models.DateTimeField(default=database_now)
    changed_at = models.DateTimeField(default=database_now)

    def __str__(self) -> str:
        return self.display_name
