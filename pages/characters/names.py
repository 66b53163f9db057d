"""Validates the names of people, teams and agents, so that others can read them."""

from __future__ import annotations

import unicodedata
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models

from pages.characters.invisible import is_hidden, name_invisible
from pages.characters.look_alikes import nfc

SINGLE_LINE = RegexValidator(
    r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z", "Control characters are not allowed here."
)

SEEN = {"L", "N", "P", "S"}  # letters, numbers, punctuation and symbols


def visible(name: str) -> None:
    """Raises ValidationError for a name that a page would show as empty, and for a name with
    invisible characters, which could make the name look like another name. An empty name passes."""
    if name and not is_visible(name):
        raise ValidationError("Use at least one character that people can see.", code="invisible")
    named = name_invisible(name)
    if named != name:
        raise ValidationError(f"Invisible characters are not allowed here: {named}", code="hidden")


def compose(row: models.Model, name: str) -> None:
    """Normalises the name in this field to NFC. Raises ValidationError if the normalised name is
    too long, because NFC splits some characters in two. A name that was too long before has that
    error already."""
    field: Any = row._meta.get_field(name)
    longest: int = field.max_length
    if len(getattr(row, name)) > longest:
        return
    setattr(row, name, nfc(getattr(row, name)))
    if len(getattr(row, name)) > longest:
        raise ValidationError({name: f"Use at most {longest} characters in Unicode NFC."})


def is_visible(text: str) -> bool:
    """Returns whether a text has a visible character."""
    return any(_is_seen(character) for character in text)


def _is_seen(character: str) -> bool:
    return unicodedata.category(character)[0] in SEEN and not is_hidden(character)
