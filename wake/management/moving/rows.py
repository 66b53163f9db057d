"""Reads the rows of a team as plain values, and stores plain values as rows.

Encrypted columns are decrypted when they are read, and encrypted with the keys of this server when
they are stored. A value that no key of this server decrypts stays as it is. It is then a list with
the ciphertext, so that it becomes readable again on the other server once the key is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import models

from database import encryption
from database.encrypted_columns import Ciphertext, ContentField
from wake.management.moving.tables import TeamTable

SECRET = "ciphertext"  # noqa: S105 - how the names of columns with secrets end

PlainRow = dict[str, Any]


def read(table: TeamTable, team_id: int) -> Iterator[list[PlainRow]]:
    """Yields the rows in the order of their ids, a few at a time."""
    names = [field.attname for field in table.fields]
    pk: Any = table.model._meta.pk
    rows = table.rows_of(team_id)
    last = None
    while True:
        after = rows if last is None else rows.filter(pk__gt=last)
        batch = [
            dict(zip(names, values, strict=True))
            for values in after.values_list(*names)[: table.rows_at_once]
        ]
        if not batch:
            return
        last = batch[-1][pk.attname]
        yield [_plain(table, row) for row in batch]


def store(table: TeamTable, rows: Sequence[PlainRow]) -> list[Any]:
    """Stores the rows, and returns their ids in the same order. The database numbers the rows of a
    numbered table."""
    pk: Any = table.model._meta.pk
    made = table.model._base_manager.bulk_create(
        [
            table.model(
                **{
                    field.attname: _own(field, row[field.attname])
                    for field in table.fields
                    if not (table.is_numbered and field is pk)
                }
            )
            for row in rows
        ]
    )
    return [each.pk for each in made]


def _plain(table: TeamTable, row: PlainRow) -> PlainRow:
    for field in table.fields:
        value = row[field.attname]
        if isinstance(value, memoryview):
            row[field.attname] = bytes(value)
        elif isinstance(value, Ciphertext):
            row[field.attname] = _decrypted(field, value)
        elif field.name.endswith(SECRET) and value:
            row[field.attname] = _secret(value)
    return row


def _decrypted(field: Any, value: Ciphertext) -> Any:
    try:
        return field.from_plain(value.decrypted())
    except encryption.Unreadable:
        return [value.token]


def _secret(token: str) -> Any:
    try:
        return encryption.decrypt(token.encode()).decode()
    except encryption.Unreadable:
        return [token]


def _own(field: models.Field[Any, Any], value: Any) -> Any:
    """Returns the value for a row of this server."""
    if field.name.endswith(SECRET) and value:
        return value[0] if isinstance(value, list) else encryption.encrypt(value.encode()).decode()
    if isinstance(field, ContentField) and isinstance(value, list):
        return Ciphertext(value[0])
    return field.to_python(value) if isinstance(value, str) else value
