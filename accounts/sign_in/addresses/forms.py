"""Defines the form in which people change their address."""

from __future__ import annotations

from typing import Any

from django import forms

from accounts.models import User
from pages.fields import INPUT, AddressField


class AddressForm(forms.Form):
    email = AddressField(
        label="New e-mail address",
        max_length=254,
        widget=forms.EmailInput(attrs={**INPUT, "autocomplete": "email"}),
        error_messages={
            "required": "Enter your new address.",
            "invalid": "Enter an address such as you@example.com.",
        },
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if email == self.user.email:
            raise forms.ValidationError("You sign in with this address already.")
        return email
