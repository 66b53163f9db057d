"""Defines the form that sets how long a team keeps content."""

from __future__ import annotations

from django import forms
from django.conf import settings

from pages.fields import INPUT
from wake.models.retention import LONGEST_DAYS


class RetentionForm(forms.Form):
    """Reads the retention of a team. `erase` is the number of days for which the person has
    confirmed that older content is erased."""

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

    def clean_days(self) -> int | None:
        days: int | None = self.cleaned_data["days"]
        floor = settings.WAKE_RETENTION_FLOOR_DAYS
        if days is not None and days < floor:
            raise forms.ValidationError(f"This server keeps content for at least {floor} days.")
        return days
