"""What people write about teams: their names, whom they invite, and who they are when they come."""

from __future__ import annotations

from typing import Any

from django import forms

from accounts.models import SINGLE_LINE, Invitation, Membership, User
from inbox.forms_sign_in import INPUT, NewPasswordForm


class TeamForm(forms.Form):
    team_name = forms.CharField(
        label="Name",
        max_length=80,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto"}),
        error_messages={"required": "Write a name for the team."},
    )


class RoleForm(forms.Form):
    role = forms.ChoiceField(
        choices=Membership.Role.choices,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose a role."},
    )


class InvitationForm(RoleForm):
    """`seen` is how many invitations there were when the form was shown, so that sending it twice
    makes one."""

    email = forms.EmailField(
        label="E-mail",
        required=False,
        max_length=254,
        widget=forms.EmailInput(attrs={**INPUT, "autocomplete": "off"}),
        error_messages={"invalid": "Write an address such as you@example.com, or nothing."},
    )
    seen = forms.IntegerField(widget=forms.HiddenInput)

    field_order = ["email", "role"]


class SignUpForm(NewPasswordForm):
    """A name and a password; and an address, where the invitation was for none."""

    display_name = forms.CharField(
        label="Name",
        max_length=80,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**INPUT, "autocomplete": "name", "dir": "auto"}),
        help_text="Your team and your agents see it with your answers.",
        error_messages={"required": "Write a name that others know you by."},
    )
    email = forms.EmailField(
        label="E-mail",
        max_length=254,
        widget=forms.EmailInput(attrs={**INPUT, "autocomplete": "username"}),
        help_text="You sign in with it. Owners of the team see it, too.",
        error_messages={
            "required": "Write your e-mail address.",
            "invalid": "Write an address such as you@example.com.",
        },
    )

    field_order = ["display_name", "email", "new_password1", "new_password2"]

    def __init__(self, invitation: Invitation, data: Any = None) -> None:
        super().__init__(User(email=invitation.email), data)
        self.fields["new_password1"].label = "Password"
        self.fields["new_password2"].label = "Password again"
        if invitation.email:
            del self.fields["email"]

    def clean(self) -> dict[str, Any]:
        """A password is compared with who one says to be, not with who is there."""
        self.user.display_name = self.cleaned_data.get("display_name", "")
        self.user.email = self.cleaned_data.get("email", self.user.email)
        return super().clean() or {}
