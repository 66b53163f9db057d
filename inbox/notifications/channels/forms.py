"""Defines the forms in which people add channels and choose what these tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from accounts.models import Agent
from inbox.models import Channel, Event
from inbox.notifications.channels.kinds.kind import BadAddress, Kind
from inbox.pages.name_field import NameField

INPUT = {"class": "input"}
PLAIN = {**INPUT, "autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}
OF_A_TEAM = [Event.QUESTION, Event.ALERT, Event.CLOSING, Event.ASSUMED]
OF_A_PERSON = [*OF_A_TEAM, Event.ASSIGNED, Event.MENTION, Event.DIGEST]
LONGEST_EXTRA = 500


def events_of(channel: Channel) -> list[Event]:
    """Returns what the channel can tell. The digest has its own mail."""
    if channel.user_id is None:
        return OF_A_TEAM
    has_digest = channel.kind != "email"
    return [event for event in OF_A_PERSON if has_digest or event != Event.DIGEST]


def _name_field(**options: Any) -> NameField:
    return NameField(
        label="Name",
        max_length=40,
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto"}),
        error_messages={"required": "Enter a name."},
        **options,
    )


class ChannelForm(forms.Form):
    """Takes the name of a new channel, and its address as its kind checks it."""

    name = _name_field()
    address = forms.CharField(max_length=2_000, widget=forms.TextInput(attrs=PLAIN))
    extra = forms.CharField(
        max_length=LONGEST_EXTRA, required=False, widget=forms.TextInput(attrs=PLAIN)
    )

    def __init__(self, data: QueryDict | None, *, kind: Kind) -> None:
        super().__init__(data, initial={"name": kind.title})
        self.kind = kind
        address, extra = self.fields["address"], self.fields["extra"]
        address.label, address.help_text = kind.address_label, kind.address_help
        address.error_messages["required"] = f"Enter the {kind.address_label}."
        extra.label, extra.help_text = kind.extra_label, kind.extra_help
        if not kind.address_label:
            del self.fields["address"]
        if not kind.extra_label:
            del self.fields["extra"]

    def clean_address(self) -> str:
        try:
            return self.kind.check(self.cleaned_data["address"])
        except BadAddress as reason:
            raise forms.ValidationError(str(reason)) from None

    def clean_extra(self) -> str:
        """A line break would end the header that this becomes."""
        text: str = self.cleaned_data["extra"]
        if not (text.isascii() and text.isprintable()):
            raise forms.ValidationError("Enter only letters, digits and signs.")
        return text


class ChoiceForm(forms.Form):
    """Takes what a channel tells."""

    name = _name_field()
    events = forms.MultipleChoiceField(
        label="Tell me about", required=False, widget=forms.CheckboxSelectMultiple
    )
    only_assigned = forms.BooleanField(label="Only what is assigned to me", required=False)
    agents = forms.MultipleChoiceField(
        label="Agents",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None means all agents.",
    )

    def __init__(self, data: QueryDict | None, *, channel: Channel, agents: list[Agent]) -> None:
        rule = channel.rule
        initial = {
            "name": channel.name,
            "events": rule.events,
            "agents": rule.agents,
            "only_assigned": rule.only_assigned,
        }
        super().__init__(data, initial=initial)
        choices = {
            "events": [(event.value, event.label) for event in events_of(channel)],
            "agents": _named(agents),
        }
        for name, values in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
            field.choices = values
        if channel.user_id is None:
            del self.fields["only_assigned"]
            self.fields["events"].label = "Tell the team about"
        if not agents:
            del self.fields["agents"]


def _named(agents: Sequence[Agent]) -> list[tuple[str, str]]:
    """Names the agents; with their teams if these are several."""
    are_of_one = len({agent.team_id for agent in agents}) < 2
    return [
        (str(agent.pk), agent.agent_id if are_of_one else f"{agent.agent_id} ({agent.team.name})")
        for agent in agents
    ]


class CodeForm(forms.Form):
    """Takes the code that was sent through the channel."""

    code = forms.CharField(
        label="Code",
        max_length=10,
        widget=forms.TextInput(
            attrs={**INPUT, "inputmode": "numeric", "autocomplete": "one-time-code"}
        ),
        error_messages={"required": "Enter the code."},
    )
