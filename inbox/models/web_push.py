"""Defines the key pair that identifies this server to push services."""

from __future__ import annotations

from django.db import models

from database.encrypted_columns import SecretTextField


class PushKey(models.Model):
    """Stores the one key pair. Browsers subscribe with the public key, and would have to subscribe
    again if the pair changed."""

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY, editable=False)
    # The private key, as PEM.
    private_key: models.TextField[str, str] = SecretTextField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="only_one_push_key")]

    def __str__(self) -> str:
        return "The key of web push"
