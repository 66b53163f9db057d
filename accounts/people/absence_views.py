"""Lets a person say that they are away."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.http import HttpResponse
from django.utils import timezone

from accounts.access.requests import PersonRequest
from accounts.limits.throttles import client_address
from accounts.models import User
from accounts.people.absence import absence_of, change_absence, possible_deputies
from database.clock import database_now
from pages.fields import INPUT
from pages.page import form_page, page
from pages.settings import posted, saved, settings_page

LONGEST_DAYS = 365


class AbsenceForm(forms.Form):
    """Reads the day on which the person is back. An empty field means that the person is not
    away."""

    back_on = forms.DateField(
        label="Back on",
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={**INPUT, "type": "date"}),
        help_text="Empty: you are not away.",
        error_messages={"invalid": "Enter a day such as 2026-12-24."},
    )
    deputy = forms.TypedChoiceField(
        label="Deputy",
        required=False,
        coerce=int,
        empty_value=None,
        widget=forms.Select(attrs=INPUT),
        help_text="Gets what is assigned to you meanwhile, too, where they may answer.",
        error_messages={"invalid_choice": "Choose a person from the list."},
    )

    def __init__(self, *args: Any, people: list[User], today: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.people, self.today = {user.pk: user for user in people}, today.date()
        field = self.fields["deputy"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
        field.choices = [("", "No one"), *((user.pk, user.display_name) for user in people)]

    def clean_back_on(self) -> Any:
        day = self.cleaned_data["back_on"]
        last = self.today + timedelta(days=LONGEST_DAYS)
        if day is not None and not self.today < day <= last:
            raise forms.ValidationError("Choose a day after today, within a year.")
        return day

    @property
    def until(self) -> datetime | None:
        """Returns when that day begins in the person's time zone."""
        day = self.cleaned_data["back_on"]
        return timezone.make_aware(datetime.combine(day, time.min)) if day else None


@form_page
@page
def absence_settings(request: PersonRequest) -> HttpResponse:
    now = database_now()
    absence = absence_of(request.user, at=now)
    initial = {
        "back_on": timezone.localtime(absence.until).date() if absence else None,
        "deputy": absence.deputy_id if absence else None,
    }
    form = AbsenceForm(
        posted(request),
        initial=initial,
        people=possible_deputies(request.user),
        today=timezone.localtime(now),
    )
    if not form.is_valid():
        return settings_page(
            request, "accounts/people/absence.html", form=form, absence=absence, now=now
        )
    deputy = form.people.get(form.cleaned_data["deputy"])
    address = client_address(request)
    change_absence(request.user, until=form.until, deputy=deputy, at=now, address=address)
    return saved(request, "settings-absence")
