"""Defines the fields that forms share: names, e-mail addresses and times of day."""

from __future__ import annotations

from typing import Any

from django import forms

from pages.characters.addresses import read_address
from pages.characters.look_alikes import nfc
from pages.characters.names import SINGLE_LINE, visible

INPUT = {"class": "input"}
ID_INPUT = {**INPUT, "autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}


class NameField(forms.CharField):
    """Reads a name or an id: on one line, visible, and normalised to NFC. A text that is too long
    is refused unchanged, because NFC takes quadratic time."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(max_length=max_length, validators=[SINGLE_LINE, visible], **options)
        self.longest = max_length

    def to_python(self, value: Any) -> str | None:
        text: str | None = super().to_python(value)
        return nfc(text) if text and len(text) <= self.longest else text


class AddressField(forms.EmailField):
    """Reads an address as the sign-in does, in NFKC and lower case. Otherwise the person could not
    sign in with the stored address. The address is normalised before it is checked, because NFKC
    may make it longer. An address that is too long is returned unchanged, because NFKC takes
    quadratic time."""

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
