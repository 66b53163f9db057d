"""Defines the forms for signing in: password, code, new password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, SetPasswordForm

from accounts.models import User
from pages.fields import INPUT, AddressField

if TYPE_CHECKING:
    PasswordSetForm = SetPasswordForm[User]
else:
    PasswordSetForm = SetPasswordForm


class SignInForm(AuthenticationForm):
    """Shows the same error for a wrong password, an unknown address and a deactivated person."""

    error_messages = {
        "invalid_login": "Wrong e-mail or password. Try again or reset your password."
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].widget = forms.EmailInput(
            attrs={"autocomplete": "username", "autofocus": True, "maxlength": 254}
        )
        self.fields["username"].label = "E-mail"


class CodeForm(forms.Form):
    """Reads a code or a recovery code. The two codes have separate fields, because a phone shows a
    keyboard with digits for a code, and one with letters for a recovery code."""

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
        help_text="The six digits from your authenticator app.",
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
        help_text="One of your ten recovery codes. Each works once.",
    )

    def __init__(self, *args: Any, has_app: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.has_app = has_app

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and not (cleaned.get("code") or cleaned.get("recovery_code")):
            self.add_error(None, self.missing)
        return cleaned

    @property
    def missing(self) -> str:
        """Returns which code to enter. A person whose second step is a passkey may have no app."""
        return f"Enter {'the code from your app' if self.has_app else 'a recovery code'}."

    @property
    def typed(self) -> str:
        """Returns the code, or the recovery code if there is no code."""
        return str(self.cleaned_data["code"] or self.cleaned_data["recovery_code"])

    @property
    def is_recovery_code(self) -> bool:
        return not self.cleaned_data["code"]

    def refuse(self) -> None:
        """Shows an error and empties the fields, because the typed code cannot be used again."""
        self.data = {}
        if self.has_app and not self.is_recovery_code:
            self.add_error(None, "Wrong or already used code. Wait for the next one.")
        else:
            self.add_error(None, "Wrong or already used recovery code. Try another one.")


class ConfirmPasswordForm(forms.Form):
    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={**INPUT, "autocomplete": "current-password"}),
        error_messages={"required": "Enter your password."},
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise forms.ValidationError("Wrong password.", code="wrong")
        return password


class ResetForm(forms.Form):
    email = AddressField(
        label="E-mail",
        max_length=254,
        widget=forms.EmailInput(attrs={**INPUT, "autocomplete": "username"}),
        error_messages={
            "required": "Enter your e-mail.",
            "invalid": "Enter an address such as you@example.com.",
        },
    )


class NewPasswordForm(PasswordSetForm):
    error_messages = {"password_mismatch": "The passwords don't match."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = {"new_password1": "New password", "new_password2": "Confirm new password"}
        for name, label in labels.items():
            self.fields[name].label = label
            self.fields[name].widget.attrs |= INPUT
        self.fields["new_password1"].help_text = "At least 10 characters."
        self.fields["new_password2"].help_text = ""
