"""Defines the forms in which people change their settings and their team's."""

from __future__ import annotations

import calendar
import re
import zoneinfo
from itertools import groupby
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm

from accounts.models import User
from inbox.answering.outcome_words import STATUS_LABELS
from inbox.models import EVERY_DAY, Preferences, SavedReply
from inbox.people.sign_in.forms import AddressField
from pages.name_field import NameField
from wake.models.retention import LONGEST_DAYS

if TYPE_CHECKING:
    SavedReplyModelForm = forms.ModelForm[SavedReply]
else:
    SavedReplyModelForm = forms.ModelForm

INPUT = {"class": "input"}
WEEKDAYS = list(zip(EVERY_DAY, calendar.day_name, strict=True))
# Leaves out names of countries, which exist for old programs only.
CONTINENTS = {
    *("Africa", "America", "Antarctica", "Arctic", "Asia"),
    *("Atlantic", "Australia", "Europe", "Indian", "Pacific"),
}
ENDS_NEXT_DAY = "Ends the next day if earlier than the start."
FEW_HOURS = [(hours, f"{hours} hours") for hours in (2, 3, 4, 6, 8, 12)]


class DaysField(forms.MultipleChoiceField):
    """Weekdays, stored as digits: `04` is Monday and Friday."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=WEEKDAYS, widget=forms.CheckboxSelectMultiple, **kwargs)

    def prepare_value(self, value: Any) -> list[str]:
        return list(value or "")

    def clean(self, value: Any) -> str:
        return "".join(sorted(set(super().clean(value))))


class ClockField(forms.TimeField):
    """Reads a time of day, to the minute."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.TimeInput(format="%H:%M", attrs={**INPUT, "type": "time"})
        messages = {"invalid": "Enter a time such as 09:00."}
        super().__init__(widget=widget, error_messages=messages, **kwargs)


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


class ThemeForm(forms.Form):
    theme = forms.ChoiceField(
        label="Theme", choices=Preferences.Theme.choices, widget=forms.RadioSelect
    )
    density = forms.ChoiceField(
        label="Lists", choices=Preferences.Density.choices, widget=forms.RadioSelect, required=False
    )

    def clean_density(self) -> Any:
        """Keeps the density if a form without this field is sent."""
        return self.cleaned_data["density"] or self.initial["density"]


class AnsweringForm(forms.Form):
    after_answer = forms.ChoiceField(
        label="After an answer on a delivery's page",
        choices=Preferences.AfterAnswer.choices,
        widget=forms.RadioSelect,
    )


class KeyboardForm(forms.Form):
    keyboard = forms.ChoiceField(
        label="Shortcuts", choices=Preferences.Keyboard.choices, widget=forms.RadioSelect
    )


class DigestForm(forms.Form):
    digest = forms.ChoiceField(
        label="Frequency", choices=Preferences.Digest.choices, widget=forms.RadioSelect
    )
    digest_at = ClockField(label="Time", help_text="Starting at this time.")
    digest_hours = forms.TypedChoiceField(
        label="Interval",
        choices=FEW_HOURS,
        coerce=int,
        widget=forms.Select(attrs=INPUT),
    )
    digest_days = DaysField(label="Days", required=False)
    wants_reminders = forms.BooleanField(
        label="E-mail me when an agent is about to continue without me (1 hour before)",
        required=False,
        help_text="At most one e-mail every ten minutes, also in quiet hours.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        is_weekly = cleaned.get("digest") == Preferences.Digest.WEEKLY
        if is_weekly and not cleaned.get("digest_days"):
            self.add_error("digest_days", "Choose at least one day.")
        return cleaned


class QuietHoursForm(forms.Form):
    quiet_from = ClockField(label="From", required=False)
    quiet_until = ClockField(label="Until", required=False, help_text=ENDS_NEXT_DAY)
    quiet_days = DaysField(label="Days", required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        check_quiet_hours(
            self, never="These hours never end. To get no e-mail, set Digest to Never."
        )
        return cleaned


def check_quiet_hours(form: forms.Form, *, never: str) -> None:
    """Adds an error if one of the times is missing, or the day, or if they never end; `never` is
    the sentence for that."""
    names = ("quiet_from", "quiet_until", "quiet_days")
    start, end, days = (form.cleaned_data[name] for name in names)
    if (start is None) != (end is None):
        missing = "quiet_from" if start is None else "quiet_until"
        form.add_error(missing, "Enter both times, or leave both empty.")
    elif start is not None and not days:
        form.add_error("quiet_days", "Choose at least one day.")
    elif start is not None and start == end and days == EVERY_DAY:
        form.add_error(None, never)


class SavedReplyForm(SavedReplyModelForm):
    status = forms.ChoiceField(
        label="Use with", choices=list(STATUS_LABELS.items()), widget=forms.Select(attrs=INPUT)
    )

    class Meta:
        model = SavedReply
        fields = ("status", "name", "text")
        labels = {"text": "Text"}
        widgets = {
            "name": forms.TextInput(attrs={**INPUT, "dir": "auto"}),
            "text": forms.Textarea(attrs={**INPUT, "rows": 4, "dir": "auto"}),
        }
        help_texts = {
            "name": "Only you see this name.",
            "text": "Sent to the agent as feedback.",
        }

    def clean_text(self) -> str:
        """Changes the line ends back to LF: a form sends CRLF."""
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")


class HostForm(forms.Form):
    pattern = forms.CharField(
        label="Host",
        max_length=2048,
        widget=forms.TextInput(
            attrs={
                **INPUT,
                "autocapitalize": "none",
                "spellcheck": "false",
                "placeholder": "hooks.example.com",
            }
        ),
        help_text="hooks.example.com, hooks.example.com:8443, *.example.com for all subdomains, or "
        "a URL, whose host is kept.",
        error_messages={"required": "Enter a host, such as hooks.example.com."},
    )

    def clean_pattern(self) -> str:
        """Returns the host and port of a pasted URL, without its user, path and query."""
        text: str = self.cleaned_data["pattern"].strip()
        scheme, separator, rest = text.partition("://")
        if not separator or not scheme.isalpha():
            return text
        authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
        return authority.rpartition("@")[2]


class RetentionForm(forms.Form):
    """Reads the retention of a team. `erase` is the number of days for which the person has
    confirmed that older content goes."""

    days = forms.IntegerField(
        label="Days to keep content",
        required=False,
        min_value=1,
        max_value=LONGEST_DAYS,
        widget=forms.NumberInput(attrs=INPUT),
        help_text="Counted from the last activity. Leave empty to keep content forever.",
        error_messages={"invalid": "Enter a whole number of days or leave this empty."},
    )
    erase = forms.IntegerField(required=False, widget=forms.HiddenInput)


def time_zones(current: str) -> list[Any]:
    """Returns UTC and cities by continent, as optgroups, and the person's current zone."""
    known = zoneinfo.available_timezones()
    places = sorted(name for name in known if name.partition("/")[0] in CONTINENTS)
    groups: list[Any] = [("UTC", "UTC")]
    for continent, names in groupby(places, lambda name: name.partition("/")[0]):
        groups.append((continent, [(name, _place(name)) for name in names]))
    if current != "UTC" and current not in places:
        groups.insert(0, (current, current))
    return groups


def _place(name: str) -> str:
    """Returns `Argentina, Buenos Aires`."""
    return name.partition("/")[2].replace("_", " ").replace("/", ", ")
