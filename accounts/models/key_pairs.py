"""Defines the Ed25519 key pairs of the server. Only one pair of each kind signs at a time."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from django.db import IntegrityError, models, transaction
from joserfc.jwk import OKPKey

from database.clock import database_now
from database.encrypted_columns import SecretTextField

Pair = TypeVar("Pair", bound="KeyPair")


class KeyPairQuerySet(models.QuerySet[Pair]):
    def current(self, **facts: Any) -> Pair:
        """Returns the pair that signs now. Makes the first pair, with these facts, if there is
        none."""
        if found := self.filter(is_current=True).first():
            return found
        try:
            with transaction.atomic():
                return self._made(at=database_now(), **facts)
        except IntegrityError:
            return self.get(is_current=True)  # another process made the first pair at this moment

    @transaction.atomic
    def replace(self, *, at: datetime, **facts: Any) -> Pair:
        """Makes a new current pair, and returns it. Erases the private key of the previous pair."""
        list(self.select_for_update().order_by("pk"))  # only one replacement at a time
        self.filter(is_current=True).update(is_current=False, private_key="", retired_at=at)
        return self._made(at=at, **facts)

    def _made(self, *, at: datetime, **facts: Any) -> Pair:
        pair = OKPKey.generate_key("Ed25519")
        return self.create(
            kid=pair.thumbprint(),
            public_key=str(pair.as_dict(private=False)["x"]),
            private_key=pair.as_pem(private=True).decode(),
            is_current=True,
            created_at=at,
            **facts,
        )


class KeyPair(models.Model):
    """Stores an Ed25519 key pair. The current pair signs. A retired pair keeps only its public key,
    which is never removed, because signatures are verified years later."""

    # The thumbprint of the public key (RFC 7638).
    kid = models.CharField(primary_key=True, max_length=43, editable=False)
    # The member `x` of the public JWK (RFC 8037): 32 bytes in base64url.
    public_key = models.CharField(max_length=43, editable=False)
    # The private key, as PEM; empty once the pair is retired.
    private_key: models.TextField[str, str] = SecretTextField(blank=True, editable=False)
    is_current = models.BooleanField()
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    objects = KeyPairQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.kid
