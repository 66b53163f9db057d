"""Encrypts columns: texts of agents and people while WAKE_ENCRYPT_CONTENT is on, and secrets
always.

A value is decrypted when its attribute is read, not when its row is loaded. Lists load columns that
they do not show, and a row whose key is gone must not make other rows unreadable
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

from database import encryption

# This module writes the mark before every ciphertext. Plain text that begins with the mark is
# stored after PLAIN, so that it is never taken for a ciphertext.
MARK = "\x01"
CIPHER = f"{MARK}fernet:"
PLAIN = f"{MARK}plain:"
# A token has these bytes besides the content: version, time, initialisation vector, signature.
FRAME = 1 + 8 + 16 + 32


@dataclass(frozen=True, slots=True)
class Ciphertext:
    """Holds the value of a row before it is read. A Ciphertext is not a str, so that no code takes
    it for a text."""

    token: str

    @classmethod
    def of(cls, plain: bytes) -> Ciphertext:
        return cls(encryption.encrypt(plain).decode())

    def decrypted(self) -> bytes:
        """Returns the plain bytes. Raises encryption.Unreadable."""
        return encryption.decrypt(self.token.encode())

    def __str__(self) -> str:
        """Returns the text that the database stores."""
        return CIPHER + self.token


def stored(name: str) -> ExpressionWrapper[Any]:
    """Selects the column as it is stored, for the few queries without Django's models. `opened()`
    reads its value."""
    return ExpressionWrapper(models.F(name), output_field=models.TextField())


def length_of(name: str) -> Case:
    """Measures a plain value in characters. An encrypted value is measured in bytes, and the result
    may be up to 16 bytes too large."""
    encrypted = (Length(name) - len(CIPHER)) * 3 / 4 - FRAME
    is_encrypted = When(**{f"{name}__startswith": CIPHER}, then=encrypted)
    return Case(is_encrypted, default=Coalesce(Length(name), 0))


class StoredBytes(models.Func):
    """Measures a value as it is stored, in bytes. PostgreSQL knows this size without loading the
    value. length_of() has to load it."""

    function = "OCTET_LENGTH"
    output_field = models.IntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "LENGTH(CAST(%(expressions)s AS BLOB))"  # older versions lack OCTET_LENGTH
        return super().as_sql(compiler, connection, template=template, **context)


def opened(text: str | None) -> str | None:
    """Returns the plain text of a stored column. Raises encryption.Unreadable."""
    if text is None or not text.startswith(MARK):
        return text
    value = _read(text)
    return value.decrypted().decode() if isinstance(value, Ciphertext) else value


def as_stored(value: str | Ciphertext) -> str:
    """Returns the text to store, which `opened()` reads. An empty text stays empty."""
    if isinstance(value, Ciphertext):
        return str(value)
    if value and settings.WAKE_ENCRYPT_CONTENT:
        return str(Ciphertext.of(value.encode()))
    return PLAIN + value if value.startswith(MARK) else value


class ContentAttribute(DeferredAttribute):
    """Decrypts the value when it is first read. Raises encryption.Unreadable if its key is gone."""

    field: ContentField

    def __get__(self, instance: models.Model | None, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        if isinstance(value, Ciphertext) and instance is not None:
            value = self.field.from_plain(value.decrypted())
            instance.__dict__[self.field.attname] = value
        return value

    def __set__(self, instance: models.Model, value: Any) -> None:
        """Makes this a data descriptor; otherwise Python would return the loaded value before it
        calls __get__."""
        instance.__dict__[self.field.attname] = value


class ContentField(models.Field):  # type: ignore[type-arg]  # no generic at run time
    """Adds encryption to a column. Each of the three field classes defines how plain content is
    read and stored."""

    descriptor_class = ContentAttribute

    def from_plain(self, plain: bytes) -> Any:
        raise NotImplementedError

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: FBT001 - Django's
        """If a value was never read, writes it back in the form in which it was loaded."""
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


class SecretTextField(ContentTextField):
    """Stores a secret that is encrypted even if content is not, such as an address that accepts
    posts from anyone who knows it."""

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        if isinstance(value, str) and value:
            value = Ciphertext.of(value.encode())
        return super().get_db_prep_save(value, connection)


class ContentBinaryField(ContentField, models.BinaryField):  # type: ignore[type-arg]
    def from_plain(self, plain: bytes) -> bytes:
        return plain

    def from_db_value(self, value: Any, *_: Any) -> bytes | Ciphertext | None:
        if value is None:
            return None
        content = bytes(value)
        if content.startswith(CIPHER.encode()):
            return Ciphertext(content[len(CIPHER) :].decode())
        return content.removeprefix(PLAIN.encode())

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
    """Stores an object as JSON. An encrypted object is stored as a JSON text with its
    ciphertext."""

    def from_plain(self, plain: bytes) -> Any:
        return json.loads(plain)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        content = super().from_db_value(value, expression, connection)
        return Ciphertext(content.removeprefix(CIPHER)) if isinstance(content, str) else content

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
