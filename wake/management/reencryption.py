"""Encrypts everything again with the newest key, and encrypts or decrypts content as the setting
requires.

Each batch is a transaction that locks rows of one table only, in the order of their ids, so a
server can run at the same time. The re-encryption can be stopped and run again. Rows that are
already right are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import models, transaction

from database import encryption
from database.encrypted_columns import Ciphertext, ContentField
from wake.models import StoredFile

ROWS_AT_ONCE = 100
FILES_AT_ONCE = 4  # only few, because each may have megabytes
# Columns of secrets have names that end like this, and are never stored as plain text.
SECRET = "ciphertext"  # noqa: S105 - a name


@dataclass(slots=True)
class Rewritten:
    """Counts the rows of one table that were read and written. `unreadable` rows stay as they
    are."""

    name: str
    read: int = 0
    written: int = 0
    unreadable: int = 0


class StillEncrypting(Exception):
    """WAKE_ENCRYPT_CONTENT is on, so content is not decrypted. Turn it off first."""


def reencrypt(*, decrypt: bool = False) -> Iterator[Rewritten]:
    """Encrypts all tables again, one after the other. With `decrypt`, content is stored
    unencrypted, but secrets never are. Raises StillEncrypting."""
    if decrypt and settings.WAKE_ENCRYPT_CONTENT:
        raise StillEncrypting(StillEncrypting.__doc__)
    for model, names in _encrypted():
        done = Rewritten(str(model._meta.verbose_name_plural))
        last = None
        while rows := _rewrite_next(model, names, done, after=last, decrypt=decrypt):
            last = rows[-1].pk
        yield done


def _encrypted() -> Iterator[tuple[type[models.Model], list[str]]]:
    """Yields each model that has columns with content or secrets, with the names of those
    columns."""
    for model in apps.get_models():
        fields = model._meta.concrete_fields
        names = [f.name for f in fields if isinstance(f, ContentField) or f.name.endswith(SECRET)]
        if names:
            yield model, names


@transaction.atomic
def _rewrite_next(
    model: type[Any], names: list[str], done: Rewritten, *, after: Any, decrypt: bool
) -> list[Any]:
    rows = model.objects.order_by("pk").only("pk", *names)
    if after is not None:
        rows = rows.filter(pk__gt=after)
    at_once = FILES_AT_ONCE if issubclass(model, StoredFile) else ROWS_AT_ONCE
    batch = list(rows.select_for_update(of=("self",))[:at_once])
    for row in batch:
        done.read += 1
        try:
            changed = {name: _new_value(row, name, decrypt=decrypt) for name in names}
        except encryption.Unreadable:
            done.unreadable += 1
            continue
        changed = {name: value for name, value in changed.items() if value is not None}
        if changed:
            vars(row).update(changed)
            row.save(update_fields=list(changed))
            done.written += 1
    return batch


def _new_value(row: models.Model, name: str, *, decrypt: bool) -> Any:
    """Returns the value to store, or None if the stored one is right."""
    value = vars(row)[name]
    if name.endswith(SECRET):
        token = value.encode()
        if not token or encryption.is_of_newest_key(token):
            return None
        return encryption.encrypt(encryption.decrypt(token)).decode()
    if not isinstance(value, Ciphertext):
        return value if value and settings.WAKE_ENCRYPT_CONTENT else None
    if decrypt:
        return getattr(row, name)
    if encryption.is_of_newest_key(value.token.encode()):
        return None
    return Ciphertext.of(value.decrypted())
