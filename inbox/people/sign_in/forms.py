"""What people write to come in: a password, a code, a new password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, SetPasswordForm

from accounts.models import User

if TYPE_CHECKING:
    PasswordSetForm = SetPasswordForm[User]
else:
    PasswordSetForm = SetPasswordForm

INPUT = {"class": "input"}


class SignInForm(AuthenticationForm):
    """One text for a wrong password, an unknown address and a person who was deactivated."""

    error_messages = {"invalid_login": "That pair didn't match. Try again or reset it."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].widget = forms.EmailInput(
            attrs={"autocomplete": "username", "autofocus": True, "maxlength": 254}
        )
        self.fields["username"].label = "E-mail"


class CodeForm(forms.Form):
    """One of the two: fields of their own, because a phone shows digits for the first and letters
    for the second."""

    code = forms.CharField(
        label="Code",
        required=False,
        max_length=20,
        widget=forms.TextInput(
            attrs={
                **INPUT,
                "autocomplete": "one-time-code",
                "inputmode": "numeric",
                "autofocus": True,
            }
        ),
        help_text="Six digits, from the app on your phone.",
    )
    recovery_code = forms.CharField(
        label="Recovery code",
        required=False,
        max_length=40,
        widget=forms.TextInput(
            attrs={
                **INPUT,
                "autocomplete": "off",
                "autocapitalize": "none",
                "spellcheck": "false",
                "placeholder": "abcde-fghjk-mnpqr",
            }
        ),
        help_text="One of the ten that you kept. Each works once.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and not (cleaned.get("code") or cleaned.get("recovery_code")):
            self.add_error(None, "Write the code that your app shows.")
        return cleaned

    @property
    def typed(self) -> str:
        """A code, or else a recovery code."""
        return str(self.cleaned_data["code"] or self.cleaned_data["recovery_code"])

    @property
    def is_recovery_code(self) -> bool:
        return not self.cleaned_data["code"]

    def refuse(self) -> None:
        """With empty fields: what was typed is of no use any more."""
        self.data = {}
        self.add_error(None, "That code doesn't fit, or was used before. Wait for the next one.")


class PasswordAgainForm(forms.Form):
    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={**INPUT, "autocomplete": "current-password"}),
        error_messages={"required": "Write your password."},
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise forms.ValidationError("That is not your password.", code="wrong")
        return password


class ResetForm(forms.Form):
    email = forms.EmailField(
        label="E-mail",
        max_length=254,
        widget=forms.EmailInput(attrs={**INPUT, "autocomplete": "username"}),
        error_messages={
            "required": "Write your e-mail address.",
            "invalid": "Write an address such as you@example.com.",
        },
    )


class NewPasswordForm(PasswordSetForm):
    error_messages = {"password_mismatch": "The two are not the same."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = {"new_password1": "New password", "new_password2": "New password again"}
        for name, label in labels.items():
            self.fields[name].label = label
            self.fields[name].widget.attrs |= INPUT
        self.fields["new_password1"].help_text = "At least 10 characters; a sentence is fine."
        self.fields["new_password2"].help_text = ""
