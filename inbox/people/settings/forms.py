"""Defines the forms in which people change what the inbox does for them."""

from __future__ import annotations

import calendar
from typing import Any

from django import forms

from inbox.models import EVERY_DAY, Preferences
from pages.fields import INPUT, ClockField

WEEKDAYS = list(zip(EVERY_DAY, calendar.day_name, strict=True))
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
