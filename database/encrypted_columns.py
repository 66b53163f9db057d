"""Columns for what agents and people wrote: encrypted in the database where WAKE_ENCRYPT_CONTENT
is on, and readable either way.

A row is decrypted when somebody reads that attribute, not when it is loaded: lists load columns
that they do not show, and one row whose key is gone must not keep the others from anybody
(docs/decisions/0010-content-is-encrypted-by-the-column.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models.expressions import Case, ExpressionWrapper, When
from django.db.models.functions import Coalesce, Length
from django.db.models.query_utils import DeferredAttribute

from accounts import encryption

# What begins with the mark was written by this module. Plain text that begins with it is stored
# behind PLAIN, so nothing that anybody sends is ever taken for a ciphertext.
MARK = "\x01"
CIPHER = f"{MARK}fernet:"
PLAIN = f"{MARK}plain:"
# Version, time, initialisation vector and signature: what a token has beside the content.
FRAME = 1 + 8 + 16 + 32


@dataclass(frozen=True, slots=True)
class Ciphertext:
    """What a row holds until somebody reads it; no text, so that nobody takes it for one."""

    token: str

    @classmethod
    def of(cls, plain: bytes) -> Ciphertext:
        return cls(encryption.encrypt(plain).decode())

    def decrypted(self) -> bytes:
        """Raises encryption.Unreadable."""
        return encryption.decrypt(self.token.encode())

    def __str__(self) -> str:
        """As it is stored."""
        return CIPHER + self.token


def stored(name: str) -> ExpressionWrapper[Any]:
    """The column as it is in the database; `opened()` reads it. For the few queries that skip
    Django's models."""
    return ExpressionWrapper(models.F(name), output_field=models.TextField())


def length_of(name: str) -> Case:
    """In characters; of what is encrypted in bytes, and up to 16 more than there are."""
    encrypted = (Length(name) - len(CIPHER)) * 3 / 4 - FRAME
    is_encrypted = When(**{f"{name}__startswith": CIPHER}, then=encrypted)
    return Case(is_encrypted, default=Coalesce(Length(name), 0))


def opened(text: str | None) -> str | None:
    """Raises encryption.Unreadable."""
    if text is None or not text.startswith(MARK):
        return text
    found = _read(text)
    return found.decrypted().decode() if isinstance(found, Ciphertext) else found


def as_stored(value: str | Ciphertext) -> str:
    """What `opened()` reads. An empty text stays empty: there is nothing to hide in it."""
    if isinstance(value, Ciphertext):
        return str(value)
    if value and settings.WAKE_ENCRYPT_CONTENT:
        return str(Ciphertext.of(value.encode()))
    return PLAIN + value if value.startswith(MARK) else value


class ContentAttribute(DeferredAttribute):
    """Decrypts at the first look, which raises encryption.Unreadable where no key fits."""

    field: ContentField

    def __get__(self, instance: models.Model | None, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        if isinstance(value, Ciphertext) and instance is not None:
            value = self.field.from_plain(value.decrypted())
            instance.__dict__[self.field.attname] = value
        return value

    def __set__(self, instance: models.Model, value: Any) -> None:
        """Without it Python would find what was loaded before it asks __get__."""
        instance.__dict__[self.field.attname] = value


class ContentField(models.Field):  # type: ignore[type-arg]  # no generic at run time
    """What the three have in common; each adds how plain content reads and is stored."""

    descriptor_class = ContentAttribute

    def from_plain(self, plain: bytes) -> Any:
        raise NotImplementedError

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: FBT001 - Django's
        """What nobody looked at is written back as it was."""
        return vars(model_instance)[self.attname]


class ContentTextField(ContentField, models.TextField):  # type: ignore[type-arg]
    def from_plain(self, plain: bytes) -> str:
        return plain.decode()

    def from_db_value(self, value: str | None, *_: Any) -> str | Ciphertext | None:
        return value if value is None else _read(value)

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        if isinstance(value, str | Ciphertext):
            value = as_stored(value)
        return super().get_db_prep_save(value, connection)


class ContentBinaryField(ContentField, models.BinaryField):  # type: ignore[type-arg]
    def from_plain(self, plain: bytes) -> bytes:
        return plain

    def from_db_value(self, value: Any, *_: Any) -> bytes | Ciphertext | None:
        if value is None:
            return None
        kept = bytes(value)
        if kept.startswith(CIPHER.encode()):
            return Ciphertext(kept[len(CIPHER) :].decode())
        return kept.removeprefix(PLAIN.encode())

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        if isinstance(value, Ciphertext):
            value = str(value).encode()
        elif isinstance(value, bytes) and value:
            if settings.WAKE_ENCRYPT_CONTENT:
                value = str(Ciphertext.of(value)).encode()
            elif value.startswith(MARK.encode()):
                value = PLAIN.encode() + value
        return super().get_db_prep_save(value, connection)


class ContentJSONField(ContentField, models.JSONField):
    """An object; where it is encrypted, a JSON text stands in its place."""

    def from_plain(self, plain: bytes) -> Any:
        return json.loads(plain)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        found = super().from_db_value(value, expression, connection)
        return Ciphertext(found.removeprefix(CIPHER)) if isinstance(found, str) else found

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        if isinstance(value, dict) and value and settings.WAKE_ENCRYPT_CONTENT:
            value = Ciphertext.of(json.dumps(value).encode())
        if isinstance(value, Ciphertext):
            value = str(value)
        return super().get_db_prep_save(value, connection)


def _read(text: str) -> str | Ciphertext:
    if text.startswith(CIPHER):
        return Ciphertext(text.removeprefix(CIPHER))
    return text.removeprefix(PLAIN)
