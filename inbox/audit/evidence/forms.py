"""Defines the form for the days of an evidence export."""

from __future__ import annotations

from datetime import date
from typing import Any

from django import forms

from pages.fields import INPUT

FIRST = date(1971, 1, 1)
WRONG_ORDER = "The last day is before the first one."
DAY = {**INPUT, "type": "date"}


class EvidenceForm(forms.Form):
    """Reads the days. `today` is the newest day that can be chosen."""

    first_day = forms.DateField(label="From", widget=forms.DateInput(attrs=DAY, format="%Y-%m-%d"))
    last_day = forms.DateField(
        label="To",
        widget=forms.DateInput(attrs=DAY, format="%Y-%m-%d"),
        help_text="Days are in UTC. A delivery belongs to the day on which it arrived.",
    )

    def __init__(self, *arguments: Any, today: date, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.today = today

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        first, last = cleaned.get("first_day"), cleaned.get("last_day")
        for name, day in (("first_day", first), ("last_day", last)):
            if day and not FIRST <= day <= self.today:
                self.add_error(name, f"Choose a day from {FIRST} to {self.today}.")
        if first and last and last < first:
            self.add_error("last_day", WRONG_ORDER)
        return cleaned
