"""Defines the form that names a passkey."""

from __future__ import annotations

from django import forms

from pages.fields import INPUT, NameField


class PasskeyForm(forms.Form):
    name = NameField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={**INPUT, "autocomplete": "off"}),
        help_text="How you'll recognize it: for instance the device it is on.",
        error_messages={"required": "Enter a name."},
    )
