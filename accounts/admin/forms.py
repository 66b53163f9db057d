"""Defines the forms of the admin."""

from __future__ import annotations

import zoneinfo
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import BaseUserCreationForm

from accounts.agents import aliases, credential_version, gates, hourly_limits
from accounts.models import Agent, ApiKey, ClaimedId, Gate, User
from database.clock import database_now
from pages.characters.look_alikes import nfc

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Any]
    UserCreationForm = BaseUserCreationForm[User]
else:
    ModelForm, UserCreationForm = forms.ModelForm, BaseUserCreationForm

OVERLAPS = {"0": "now", "3600": "in 1 hour", "86400": "in 24 hours", "604800": "in 7 days"}


class NewPersonForm(UserCreationForm):
    display_name = forms.CharField(
        max_length=80,
        required=False,
        help_text="Shown to other people. Leave empty to use the first part of the e-mail address.",
    )

    class Meta:
        model = User
        fields = ("email", "display_name")

    def clean(self) -> dict[str, Any] | None:
        super().clean()
        if not self.cleaned_data.get("display_name"):
            local_part, _, _ = self.cleaned_data.get("email", "").partition("@")
            self.cleaned_data["display_name"] = local_part.lower()
        return self.cleaned_data


class PersonForm(ModelForm):
    def clean_time_zone(self) -> str:
        """Refuses a time zone that does not exist, because every page would fail for this
        person."""
        name: str = self.cleaned_data["time_zone"]
        if name not in zoneinfo.available_timezones():
            raise forms.ValidationError("Unknown time zone. Use one such as Europe/Berlin.")
        return name


class AgentForm(ModelForm):
    def clean_hourly_limit(self) -> int | None:
        hourly: int | None = self.cleaned_data["hourly_limit"]
        hourly_limits.check(hourly)
        return hourly


class ClaimedIdForm(ModelForm):
    def clean_pattern(self) -> str:
        pattern: str = nfc(self.cleaned_data["pattern"].strip())
        aliases.check(pattern)
        return pattern

    class Meta:
        model = ClaimedId
        fields = ("pattern",)


class NewGateForm(ModelForm):
    """Reads a new gate key. `version` is the number of gate keys when the page was made. Keys are
    never deleted, so each new key makes this number larger, and a form that is sent twice is
    refused the second time."""

    version = forms.IntegerField(widget=forms.HiddenInput)

    class Meta:
        model = Gate
        fields = ("team", "name", "agents", "expires_at")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        try:
            gates.hold(cleaned["team"], agents=cleaned["agents"], at=database_now())
        except (gates.TooManyGates, gates.NoAgents) as reason:
            raise forms.ValidationError(str(reason)) from reason
        if cleaned["version"] != Gate.objects.count():
            raise forms.ValidationError(
                "A gate key was created since you opened this page. Look at the list first."
            )
        return cleaned


class SecretForm(forms.Form):
    """Asks for a new key or secret, which the response shows once. `version` is the version of the
    agent's keys and secrets when the page was made, so that the same form is not accepted twice."""

    version = forms.CharField(widget=forms.HiddenInput)

    def is_first_for(self, agent: Agent) -> bool:
        return self.is_valid() and self.cleaned_data["version"] == credential_version.current(agent)


class IssueKeyForm(SecretForm):
    mode = forms.ChoiceField(choices=ApiKey.Mode.choices)


class RotateKeyForm(SecretForm):
    overlap = forms.ChoiceField(
        choices=list(OVERLAPS.items()), initial="86400", label="Old key expires"
    )

    @property
    def delta(self) -> timedelta:
        return timedelta(seconds=int(self.cleaned_data["overlap"]))
