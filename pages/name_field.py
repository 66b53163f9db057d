"""Takes a name or an id in a form: on one line, visible, and in one form of Unicode (NFC)."""

from __future__ import annotations

from typing import Any

from django import forms

from pages.characters.look_alikes import nfc
from pages.characters.names import SINGLE_LINE, visible


class NameField(forms.CharField):
    """A text that is too long is refused as it is, because NFC takes the square of the length."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(max_length=max_length, validators=[SINGLE_LINE, visible], **options)
        self.longest = max_length

    def to_python(self, value: Any) -> str | None:
        text: str | None = super().to_python(value)
        return nfc(text) if text and len(text) <= self.longest else text
