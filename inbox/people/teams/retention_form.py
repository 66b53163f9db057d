"""Defines the form that sets how long a team keeps content."""

from __future__ import annotations

from django import forms

from pages.fields import INPUT
from wake.models.retention import LONGEST_DAYS


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
