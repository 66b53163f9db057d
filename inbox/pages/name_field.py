"""Takes a name or an id in a form: on one line, visible, and in one form of Unicode (NFC)."""

from __future__ import annotations

from typing import Any

from django import forms

from accounts.characters.look_alikes import nfc
from accounts.models import SINGLE_LINE
from accounts.models.names import visible


class NameField(forms.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(validators=[SINGLE_LINE, visible], **options)

    def to_python(self, value: Any) -> str | None:
        text: str | None = super().to_python(value)
        return nfc(text) if text else text
