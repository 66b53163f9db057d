"""What people change about themselves: each form's cleaned data is what its verb takes."""

from __future__ import annotations

import calendar
import zoneinfo
from itertools import groupby
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm

from accounts.models import SINGLE_LINE
from inbox.models import EVERY_DAY, Preferences, Preset
from wake.models import Response
from wake.models.retention import LONGEST_DAYS

if TYPE_CHECKING:
    PresetModelForm = forms.ModelForm[Preset]
else:
    PresetModelForm = forms.ModelForm

INPUT = {"class": "input"}
WEEKDAYS = list(zip(EVERY_DAY, calendar.day_name, strict=True))
# Without the names of countries that are kept for old programs.
CONTINENTS = {
    *("Africa", "America", "Antarctica", "Arctic", "Asia"),
    *("Atlantic", "Australia", "Europe", "Indian", "Pacific"),
}
FEW_HOURS = [(hours, f"{hours} hours") for hours in (2, 3, 4, 6, 8, 12)]


class DaysField(forms.MultipleChoiceField):
    """Weekdays, kept as digits: `04` is Monday and Friday."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=WEEKDAYS, widget=forms.CheckboxSelectMultiple, **kwargs)

    def prepare_value(self, value: Any) -> list[str]:
        return list(value or "")

    def clean(self, value: Any) -> str:
        return "".join(sorted(set(super().clean(value))))


class ClockField(forms.TimeField):
    """To the minute."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.TimeInput(format="%H:%M", attrs={**INPUT, "type": "time"})
        messages = {"invalid": "Write a time such as 09:00."}
        super().__init__(widget=widget, error_messages=messages, **kwargs)


class ProfileForm(forms.Form):
    display_name = forms.CharField(
        label="Name",
        max_length=80,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**INPUT, "autocomplete": "name", "dir": "auto"}),
        help_text="Your team and your agents see it with your answers.",
        error_messages={"required": "Write a name that others know you by."},
    )
    time_zone = forms.ChoiceField(
        widget=forms.Select(attrs=INPUT),
        help_text="Every time is shown in it, and your digest keeps to it.",
        error_messages={"invalid_choice": "There is no such time zone: choose one of the list."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["time_zone"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
        field.choices = time_zones(self.get_initial_for_field(field, "time_zone"))


class PasswordForm(PasswordChangeForm):
    error_messages = {
        "password_incorrect": "That is not your password now.",
        "password_mismatch": "The two new ones are not the same.",
    }
    field_order = ["old_password", "new_password1", "new_password2"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = ("Your password now", "New password", "New password again")
        for name, label in zip(self.field_order, labels, strict=True):
            self.fields[name].label = label
            self.fields[name].widget.attrs |= INPUT
            self.fields[name].widget.attrs.pop("autofocus", None)
        self.fields["new_password1"].help_text = "At least 10 characters; a sentence is fine."
        self.fields["new_password2"].help_text = ""


class ThemeForm(forms.Form):
    theme = forms.ChoiceField(
        label="Colours", choices=Preferences.Theme.choices, widget=forms.RadioSelect
    )


class KeyboardForm(forms.Form):
    keyboard = forms.ChoiceField(
        label="Single keys", choices=Preferences.Keyboard.choices, widget=forms.RadioSelect
    )


class DigestForm(forms.Form):
    digest = forms.ChoiceField(
        label="How often", choices=Preferences.Digest.choices, widget=forms.RadioSelect
    )
    digest_at = ClockField(label="At", help_text="Every few hours is counted from this time.")
    digest_hours = forms.TypedChoiceField(
        label="A few hours are",
        choices=FEW_HOURS,
        coerce=int,
        widget=forms.Select(attrs=INPUT),
    )
    digest_days = DaysField(label="Which days of the week", required=False)
    wants_last_calls = forms.BooleanField(
        label="Tell me when an agent would continue without me in less than 1 h",
        required=False,
        help_text="At most a mail every ten minutes. It is the one thing that is sent in quiet "
        "hours, too.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        is_weekly = cleaned.get("digest") == Preferences.Digest.WEEKLY
        if is_weekly and not cleaned.get("digest_days"):
            self.add_error("digest_days", "Choose at least one day of the week.")
        return cleaned


class QuietHoursForm(forms.Form):
    quiet_from = ClockField(label="From", required=False)
    quiet_until = ClockField(
        label="Until", required=False, help_text="An earlier time is on the next day."
    )
    quiet_days = DaysField(label="On the days on which they begin", required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        start, end, days = (cleaned[name] for name in self.fields)
        if (start is None) != (end is None):
            missing = "quiet_from" if start is None else "quiet_until"
            self.add_error(missing, "Write both times, or neither for no quiet hours.")
        elif start is not None and not days:
            self.add_error("quiet_days", "Choose at least one day.")
        elif start is not None and start == end and days == EVERY_DAY:
            self.add_error(None, "That is always: to be told nothing, choose Never in the digest.")
        return cleaned


class PhraseForm(PresetModelForm):
    status = forms.ChoiceField(
        label="Goes with", choices=Response.Status.choices, widget=forms.Select(attrs=INPUT)
    )

    class Meta:
        model = Preset
        fields = ("status", "name", "text")
        labels = {"text": "Words"}
        widgets = {
            "name": forms.TextInput(attrs={**INPUT, "dir": "auto"}),
            "text": forms.Textarea(attrs={**INPUT, "rows": 4, "dir": "auto"}),
        }
        help_texts = {
            "name": "What you choose it by; nobody else sees it.",
            "text": "They go to the agent, like any other feedback.",
        }

    def clean_text(self) -> str:
        """A form sends every line end as CRLF."""
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")


class HostForm(forms.Form):
    pattern = forms.CharField(
        label="Add a host",
        max_length=260,
        widget=forms.TextInput(
            attrs={
                **INPUT,
                "autocapitalize": "none",
                "spellcheck": "false",
                "placeholder": "hooks.example.com",
            }
        ),
        help_text="hooks.example.com, hooks.example.com:8443, or *.example.com for all below it.",
        error_messages={"required": "Write a host, such as hooks.example.com."},
    )


class RetentionForm(forms.Form):
    """`erase` is for how many days the person has agreed that what is older goes."""

    days = forms.IntegerField(
        label="Days to keep what was written",
        required=False,
        min_value=1,
        max_value=LONGEST_DAYS,
        widget=forms.NumberInput(attrs=INPUT),
        help_text="After the last thing that happened to it. Empty: for ever.",
        error_messages={"invalid": "Write a whole number of days, or nothing."},
    )
    erase = forms.IntegerField(required=False, widget=forms.HiddenInput)


def time_zones(current: str) -> list[Any]:
    """UTC and places by continent, as optgroups; and whatever the person has now."""
    known = zoneinfo.available_timezones()
    places = sorted(name for name in known if name.partition("/")[0] in CONTINENTS)
    groups: list[Any] = [("UTC", "UTC")]
    for continent, names in groupby(places, lambda name: name.partition("/")[0]):
        groups.append((continent, [(name, _place(name)) for name in names]))
    if current != "UTC" and current not in places:
        groups.insert(0, (current, current))
    return groups


def _place(name: str) -> str:
    """`Argentina, Buenos Aires`."""
    return name.partition("/")[2].replace("_", " ").replace("/", ", ")
