"""What owners write about their agents, their keys and their other ids."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict

from accounts.models import SINGLE_LINE, ApiKey, Team
from inbox.forms_settings import INPUT

if TYPE_CHECKING:
    TeamField = forms.ModelChoiceField[Team]
else:
    TeamField = forms.ModelChoiceField

WORKS_FOR = {"": "Until it is revoked", "30": "30 days", "90": "90 days", "365": "A year"}
OVERLAPS = {"0": "At once", "3600": "In 1 hour", "86400": "In 1 day", "604800": "In 7 days"}
LANES = {
    ApiKey.Lane.LIVE.value: "Live: what it delivers comes to the inbox",
    ApiKey.Lane.TEST.value: "Test: what it delivers is found by is:test alone",
}
AN_ID = {**INPUT, "autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}


class NewAgentForm(forms.Form):
    team = TeamField(queryset=Team.objects.none(), empty_label=None, widget=forms.RadioSelect)
    agent_id = forms.CharField(
        label="Its id",
        max_length=128,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**AN_ID, "placeholder": "research-agent-01"}),
        help_text="It says this with every delivery, and people see it. One line of at most 128 "
        "characters; to be called by other agents it may have letters, digits and -._~ alone. "
        "It stays as it is.",
        error_messages={"required": "Write an id."},
    )

    def __init__(self, data: QueryDict | None, *, teams: QuerySet[Team], slug: str = "") -> None:
        """`slug` is of the team that the person was looking at, if any."""
        super().__init__(data, initial={"team": teams.filter(slug=slug).first() or teams.first()})
        field = self.fields["team"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 - for the type checker
        field.queryset = teams
        if len(teams) == 1:
            field.widget = forms.HiddenInput()


class SeenForm(forms.Form):
    """`seen` is what accounts/credentials.py says of the agent when the page is made."""

    seen = forms.CharField(max_length=40, widget=forms.HiddenInput)


class _WithExpiry(SeenForm):
    days = forms.ChoiceField(
        label="It works for",
        required=False,
        choices=list(WORKS_FOR.items()),
        widget=forms.Select(attrs=INPUT),
    )

    def expires_at(self, *, at: datetime) -> datetime | None:
        days = self.cleaned_data["days"]
        return at + timedelta(days=int(days)) if days else None


class NewKeyForm(_WithExpiry):
    lane = forms.ChoiceField(
        label="Which kind",
        choices=list(LANES.items()),
        initial=ApiKey.Lane.LIVE,
        widget=forms.RadioSelect,
    )
    field_order = ["lane", "days"]


class RotationForm(_WithExpiry):
    overlap = forms.ChoiceField(
        label="The old key stops",
        choices=list(OVERLAPS.items()),
        initial="86400",
        widget=forms.RadioSelect,
        help_text="Until then both work. The agent loses nothing: deliveries and answers belong to "
        "the agent, not to a key.",
    )
    field_order = ["overlap", "days"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["days"].label = "The new one works for"

    @property
    def delta(self) -> timedelta:
        return timedelta(seconds=int(self.cleaned_data["overlap"]))


class ClaimForm(forms.Form):
    pattern = forms.CharField(
        label="Add an id, or what ids begin with",
        max_length=128,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**AN_ID, "placeholder": "research-*"}),
        help_text="With a star at the end it is every id that begins so.",
        error_messages={"required": "Write an id."},
    )


class LimitForm(forms.Form):
    hourly_limit = forms.IntegerField(
        label="Deliveries an hour from each of its keys",
        required=False,
        widget=forms.NumberInput(attrs={**INPUT, "min": 1, "inputmode": "numeric"}),
        help_text="Empty: as many as the server gives.",
        error_messages={"invalid": "Write a whole number, or nothing."},
    )


class RehearsalForm(forms.Form):
    url = forms.CharField(
        label="Where to",
        max_length=2048,
        widget=forms.URLInput(attrs={**AN_ID, "placeholder": "https://hooks.example.com/wake"}),
        help_text="As the agent writes it in callback_webhook. Nothing is sent again by itself.",
        error_messages={"required": "Write an address."},
    )
