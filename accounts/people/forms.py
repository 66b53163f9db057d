"""Defines the forms in which people change their name, time zone and password."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm

from accounts.people.time_zones import time_zones
from pages.fields import INPUT, NameField


class ProfileForm(forms.Form):
    display_name = NameField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={**INPUT, "autocomplete": "name", "dir": "auto"}),
        help_text="Shown to your team and your agents with your answers.",
        error_messages={"required": "Enter your name."},
    )
    time_zone = forms.ChoiceField(
        widget=forms.Select(attrs=INPUT),
        help_text="Used for all times and for your digest.",
        error_messages={"invalid_choice": "Choose a time zone from the list."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["time_zone"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
        field.choices = time_zones(self.get_initial_for_field(field, "time_zone"))


class PasswordForm(PasswordChangeForm):
    error_messages = {
        "password_incorrect": "Wrong password.",
        "password_mismatch": "The passwords don't match.",
    }
    field_order = ["old_password", "new_password1", "new_password2"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = ("Current password", "New password", "Confirm new password")
        for name, label in zip(self.field_order, labels, strict=True):
            self.fields[name].label = label
            self.fields[name].widget.attrs |= INPUT
            self.fields[name].widget.attrs.pop("autofocus", None)
        self.fields["new_password1"].help_text = "At least 10 characters."
        self.fields["new_password2"].help_text = ""
