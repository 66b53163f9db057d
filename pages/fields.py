"""Defines the fields that forms share: names, e-mail addresses and times of day."""

from __future__ import annotations

from typing import Any

from django import forms

from pages.characters.addresses import read_address
from pages.characters.look_alikes import nfc
from pages.characters.names import SINGLE_LINE, visible

INPUT = {"class": "input"}


class NameField(forms.CharField):
    """Takes a name or an id: on one line, visible, and in one form of Unicode (NFC). A text that is
    too long is refused as it is, because NFC takes the square of the length."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(max_length=max_length, validators=[SINGLE_LINE, visible], **options)
        self.longest = max_length

    def to_python(self, value: Any) -> str | None:
        text: str | None = super().to_python(value)
        return nfc(text) if text and len(text) <= self.longest else text


class AddressField(forms.EmailField):
    """Reads an address as the sign-in does, in NFKC and small letters, or the person could not sign
    in with it. It is checked afterwards, because it may be longer then. An address
    that is too long is returned as it is, because NFKC takes the square of the length."""

    def to_python(self, value: Any) -> str:
        text: str = super().to_python(value) or ""
        if self.max_length is not None and len(text) > self.max_length:
            return text
        return read_address(text)


class ClockField(forms.TimeField):
    """Reads a time of day, to the minute."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.TimeInput(format="%H:%M", attrs={**INPUT, "type": "time"})
        messages = {"invalid": "Enter a time such as 09:00."}
        super().__init__(widget=widget, error_messages=messages, **kwargs)
