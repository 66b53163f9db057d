"""Defines the forms in which people change the behaviour of their inbox."""

from __future__ import annotations

import calendar
from typing import Any, ClassVar

from django import forms

from inbox.models import EVERY_DAY, Preferences, QuietHours
from pages.fields import INPUT, ClockField

WEEKDAYS = list(zip(EVERY_DAY, calendar.day_name, strict=True))
ENDS_NEXT_DAY = "Ends the next day if earlier than the start."
FEW_HOURS = [(hours, f"{hours} hours") for hours in (2, 3, 4, 6, 8, 12)]


class DaysField(forms.MultipleChoiceField):
    """Holds weekdays, stored as digits: `04` is Monday and Friday."""

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
        """Keeps the density if the form was sent without this field."""
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


class QuietHoursFields(forms.Form):
    """Reads quiet hours. If the hours would never end, the form's error says what to do instead."""

    quiet_from = ClockField(label="From", required=False)
    quiet_until = ClockField(label="Until", required=False, help_text=ENDS_NEXT_DAY)
    quiet_days = DaysField(label="Days", required=False)
    instead_of_endless: ClassVar[str]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and "quiet_from" in self.fields:
            self._check_quiet_hours()
        return cleaned

    def quiet_hours(self) -> QuietHours | None:
        """Returns the quiet hours of a valid form."""
        start, end = (self.cleaned_data.get(name) for name in ("quiet_from", "quiet_until"))
        if start is None or end is None:
            return None
        return QuietHours(start, end, self.cleaned_data["quiet_days"])

    def _check_quiet_hours(self) -> None:
        start, end = self.cleaned_data["quiet_from"], self.cleaned_data["quiet_until"]
        if (start is None) != (end is None):
            missing = "quiet_from" if start is None else "quiet_until"
            self.add_error(missing, "Enter both times, or leave both empty.")
        elif (hours := self.quiet_hours()) and not hours.days:
            self.add_error("quiet_days", "Choose at least one day.")
        elif hours and hours.never_end:
            self.add_error(None, f"These hours never end. {self.instead_of_endless}")


class QuietHoursForm(QuietHoursFields):
    instead_of_endless = "To get no e-mail, set Digest to Never."
