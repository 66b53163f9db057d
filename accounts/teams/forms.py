"""Defines the forms for teams: name, role, invitation and sign-up."""

from __future__ import annotations

from typing import Any

from django import forms

from accounts.models import Invitation, Membership, User
from accounts.sign_in.forms import NewPasswordForm
from pages.fields import INPUT, AddressField, NameField


class TeamForm(forms.Form):
    team_name = NameField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto"}),
        error_messages={"required": "Enter a team name."},
    )


class RoleForm(forms.Form):
    role = forms.ChoiceField(
        choices=Membership.Role.choices,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose a role."},
    )


class InvitationForm(RoleForm):
    """Reads an invitation. `version` is the number of invitations when the page was made, so that
    sending the form twice creates only one invitation."""

    email = AddressField(
        label="E-mail",
        required=False,
        max_length=254,
        widget=forms.EmailInput(attrs={**INPUT, "autocomplete": "off"}),
        error_messages={
            "invalid": "Enter an address such as you@example.com, or leave this empty."
        },
    )
    version = forms.IntegerField(widget=forms.HiddenInput)

    field_order = ["email", "role"]


class SignUpForm(NewPasswordForm):
    """Asks for a name and a password, and also for an address if the invitation names none."""

    display_name = NameField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={**INPUT, "autocomplete": "name", "dir": "auto"}),
        help_text="Shown to your team and your agents with your answers.",
        error_messages={"required": "Enter your name."},
    )
    email = AddressField(
        label="E-mail",
        max_length=254,
        widget=forms.EmailInput(attrs={**INPUT, "autocomplete": "username"}),
        help_text="Used to sign in. Team owners can see it.",
        error_messages={
            "required": "Enter your e-mail.",
            "invalid": "Enter an address such as you@example.com.",
        },
    )

    field_order = ["display_name", "email", "new_password1", "new_password2"]

    def __init__(self, invitation: Invitation, data: Any = None) -> None:
        super().__init__(User(email=invitation.email), data)
        self.fields["new_password1"].label = "Password"
        self.fields["new_password2"].label = "Confirm password"
        if invitation.email:
            del self.fields["email"]

    def clean(self) -> dict[str, Any]:
        """Compares the password with the typed name and address."""
        self.user.display_name = self.cleaned_data.get("display_name", "")
        self.user.email = self.cleaned_data.get("email", self.user.email)
        return super().clean() or {}
