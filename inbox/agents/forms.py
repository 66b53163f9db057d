"""Defines the forms in which owners register agents, keys and aliases."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict

from accounts.models import ApiKey, Team
from pages.fields import ID_INPUT, INPUT, NameField

if TYPE_CHECKING:
    TeamField = forms.ModelChoiceField[Team]
else:
    TeamField = forms.ModelChoiceField

EXPIRES_AFTER = {"": "Never", "30": "30 days", "90": "90 days", "365": "A year"}
OVERLAPS = {"0": "Immediately", "3600": "In 1 hour", "86400": "In 1 day", "604800": "In 7 days"}
MODES = {
    ApiKey.Mode.LIVE.value: "Live: deliveries go to the inbox",
    ApiKey.Mode.TEST.value: "Test: deliveries stay out of the inbox",
}


class NewAgentForm(forms.Form):
    team = TeamField(queryset=Team.objects.none(), empty_label=None, widget=forms.RadioSelect)
    agent_id = NameField(
        label="Agent ID",
        max_length=128,
        widget=forms.TextInput(attrs={**ID_INPUT, "placeholder": "research-agent-01"}),
        help_text="Shown with every delivery and can't be changed. Use only letters, digits and "
        "-._~ if other agents will call this agent.",
        error_messages={"required": "Enter an ID."},
    )

    def __init__(self, data: QueryDict | None, *, teams: QuerySet[Team], slug: str = "") -> None:
        """Selects the team with this `slug`, which the person was viewing."""
        super().__init__(data, initial={"team": teams.filter(slug=slug).first() or teams.first()})
        field = self.fields["team"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 - for the type checker
        field.queryset = teams
        if len(teams) == 1:
            field.widget = forms.HiddenInput()


class OnceForm(forms.Form):
    """Accepts each page's form only once. `version` is the version of the agent's keys and secrets
    when the page was made (accounts/agents/credential_version.py)."""

    version = forms.CharField(max_length=40, widget=forms.HiddenInput)


class ExpiryForm(forms.Form):
    """Asks when a new key expires."""

    days = forms.ChoiceField(
        label="Expires",
        required=False,
        choices=list(EXPIRES_AFTER.items()),
        widget=forms.Select(attrs=INPUT),
    )

    def expires_at(self, *, at: datetime) -> datetime | None:
        days = self.cleaned_data["days"]
        return at + timedelta(days=int(days)) if days else None


class NewKeyForm(ExpiryForm, OnceForm):
    mode = forms.ChoiceField(
        label="Mode",
        choices=list(MODES.items()),
        initial=ApiKey.Mode.LIVE,
        widget=forms.RadioSelect,
    )
    field_order = ["mode", "days"]


class RotationForm(ExpiryForm, OnceForm):
    overlap = forms.ChoiceField(
        label="Old key expires",
        choices=list(OVERLAPS.items()),
        initial="86400",
        widget=forms.RadioSelect,
        help_text="Until then both keys work. The agent keeps its deliveries and answers.",
    )
    field_order = ["overlap", "days"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["days"].label = "New key expires"

    @property
    def delta(self) -> timedelta:
        return timedelta(seconds=int(self.cleaned_data["overlap"]))


class AliasForm(forms.Form):
    pattern = NameField(
        label="Alias",
        max_length=128,
        widget=forms.TextInput(attrs={**ID_INPUT, "placeholder": "research-*"}),
        help_text="End with * to allow every ID that starts this way.",
        error_messages={"required": "Enter an ID."},
    )


class LimitForm(forms.Form):
    hourly_limit = forms.IntegerField(
        label="Deliveries per hour, for each key",
        required=False,
        widget=forms.NumberInput(attrs={**INPUT, "min": 1, "inputmode": "numeric"}),
        help_text="Leave empty for the default.",
        error_messages={"invalid": "Enter a whole number or leave this empty."},
    )
