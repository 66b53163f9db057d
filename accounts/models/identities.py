"""Defines people's accounts at an OpenID Connect provider, and a cache of its documents."""

from __future__ import annotations

from django.db import models

from accounts.models.people import User
from database.clock import database_now


class Identity(models.Model):
    """Connects a person to an account at a provider. The provider identifies the account by its
    subject. The provider never gives a subject to another account, while an e-mail address may get
    another owner."""

    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="identities")
    # The address that the provider sent at the last sign-in. The address is only shown to people.
    email = models.CharField(max_length=254, blank=True)
    # The account's id in the company's directory, from the last sign-in, or empty. SCIM calls it
    # `externalId`.
    directory_id = models.CharField(max_length=255, blank=True, default="", db_default="")
    # The groups of the last sign-in that give a role, one on each line. They count for groups that
    # the directory does not send by SCIM. Null if no sign-in has stored them yet.
    groups = models.TextField(null=True, blank=True)  # noqa: DJ001 - an empty text is no groups
    connected_at = models.DateTimeField(default=database_now)

    class Meta:
        indexes = [models.Index(fields=["issuer", "directory_id"], name="identities_in_directory")]
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="identity_of_one_person"),
            models.UniqueConstraint(fields=["issuer", "user"], name="one_identity_a_person"),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.issuer}"


class ProviderDocument(models.Model):
    """Caches a JSON document of the provider, its configuration or its keys, so that most sign-ins
    need no request for the document (accounts/sign_in/oidc/documents.py)."""

    url = models.CharField(max_length=512, primary_key=True)
    # The document is stored as a text, because the provider may send U+0000, which PostgreSQL
    # refuses in JSON.
    content = models.TextField()
    fetched_at = models.DateTimeField()
    # When the document was last requested. A failed request counts, so that the provider is not
    # asked again immediately.
    asked_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.url
