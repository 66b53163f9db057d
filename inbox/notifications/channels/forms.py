"""Defines the forms in which people add channels and choose what channels notify about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

from django import forms
from django.http import QueryDict

from accounts.models import Agent
from inbox.models import Channel, ChannelEvent
from inbox.notifications.channels.batches import zone_for
from inbox.notifications.channels.channels import Limits
from inbox.notifications.channels.kinds.kind import BadAddress, ChannelKind
from inbox.preferences.forms import ENDS_NEXT_DAY, QuietHoursFields
from pages.fields import ID_INPUT, INPUT, NameField

OF_A_TEAM = [
    ChannelEvent.QUESTION,
    ChannelEvent.ALERT,
    ChannelEvent.CLOSING,
    ChannelEvent.ASSUMED,
    ChannelEvent.FAILED,
]
OF_A_PERSON = [*OF_A_TEAM, ChannelEvent.ASSIGNED, ChannelEvent.MENTION, ChannelEvent.DIGEST]
LONGEST_EXTRA = 500
MAX_AN_HOUR = 60
LIMITS = ("quiet_from", "quiet_until", "quiet_days", "most_an_hour")


def events_of(channel: Channel) -> list[ChannelEvent]:
    """Returns the events that the channel can send. An e-mail channel cannot send the digest,
    because a person sets the digest by e-mail on another page."""
    if channel.user_id is None:
        return OF_A_TEAM
    has_digest = channel.kind != "email"
    return [event for event in OF_A_PERSON if has_digest or event != ChannelEvent.DIGEST]


def _name_field(**options: Any) -> NameField:
    return NameField(
        label="Name",
        max_length=40,
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto"}),
        error_messages={"required": "Enter a name."},
        **options,
    )


class ChannelForm(forms.Form):
    """Reads the name of a new channel, and its address, which its kind checks."""

    name = _name_field()
    address = forms.CharField(max_length=2_000, widget=forms.TextInput(attrs=ID_INPUT))
    extra = forms.CharField(
        max_length=LONGEST_EXTRA, required=False, widget=forms.TextInput(attrs=ID_INPUT)
    )

    def __init__(self, data: QueryDict | None, *, kind: ChannelKind) -> None:
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
        """Refuses characters that an HTTP header cannot carry."""
        text: str = self.cleaned_data["extra"]
        if not (text.isascii() and text.isprintable()):
            raise forms.ValidationError("Use ASCII letters, digits and symbols only.")
        return text


class ChoiceForm(QuietHoursFields):
    """Reads which events a channel sends, for which agents, and its limits."""

    field_order = ("name", "events", "only_assigned", "agents")
    instead_of_endless = "To get no messages, choose no events."
    name = _name_field()
    events = forms.MultipleChoiceField(
        label="Notify me about", required=False, widget=forms.CheckboxSelectMultiple
    )
    only_assigned = forms.BooleanField(label="Only deliveries assigned to me", required=False)
    agents = forms.MultipleChoiceField(
        label="Agents",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Leave empty for all agents.",
    )
    most_an_hour = forms.IntegerField(
        label="Messages an hour, at most",
        required=False,
        min_value=1,
        max_value=MAX_AN_HOUR,
        widget=forms.NumberInput(attrs=INPUT),
        help_text="Leave empty for no limit. Everything that waits meanwhile becomes one message.",
    )

    def __init__(self, data: QueryDict | None, *, channel: Channel, agents: list[Agent]) -> None:
        rule = channel.rule
        initial = {
            "name": channel.name,
            "events": rule.events,
            "agents": rule.agents,
            "only_assigned": rule.only_assigned,
            **{name: getattr(rule, name) for name in LIMITS},
        }
        super().__init__(data, initial=initial)
        choices = {
            "events": [(event.value, event.label) for event in events_of(channel)],
            "agents": _named(agents, stored=rule.agents),
        }
        for name, values in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
            field.choices = values
        if channel.user_id is None:
            del self.fields["only_assigned"]
            self._name_for_a_team(zone_for(channel))
        else:
            # A person's limits are set elsewhere, for all of their channels (Settings, Quiet
            # hours).
            for name in LIMITS:
                del self.fields[name]
        if not choices["agents"]:
            del self.fields["agents"]

    def limits(self) -> Limits:
        return Limits(self.quiet_hours(), self.cleaned_data.get("most_an_hour"))

    def _name_for_a_team(self, zone: tzinfo) -> None:
        labels = {
            "events": "Notify the team about",
            "quiet_from": "Quiet from",
            "quiet_until": "Quiet until",
            "quiet_days": "Quiet on",
        }
        for name, label in labels.items():
            self.fields[name].label = label
        self.fields["quiet_until"].help_text = f"{ENDS_NEXT_DAY} Times are in {zone}."


def _named(agents: Sequence[Agent], *, stored: Sequence[str]) -> list[tuple[str, str]]:
    """Names the agents, with their teams if there are several. Each stored id stays a choice, even
    for an agent that the person can no longer see. Otherwise the form could drop the only stored
    id, and a channel without ids sends events of all agents."""
    are_of_one = len({agent.team_id for agent in agents}) < 2
    names = {}
    for agent in agents:
        notes = [] if are_of_one else [agent.team.name]
        notes += ["archived"] if agent.archived_at else []
        names[str(agent.pk)] = f"{agent.agent_id} ({', '.join(notes)})" if notes else agent.agent_id
    gone = {pk: "An agent that you can no longer see" for pk in stored if pk not in names}
    return [*names.items(), *gone.items()]


class ChannelCodeForm(forms.Form):
    """Reads the code that was sent through the channel."""

    code = forms.CharField(
        label="Code",
        max_length=10,
        widget=forms.TextInput(
            attrs={**INPUT, "inputmode": "numeric", "autocomplete": "one-time-code"}
        ),
        error_messages={"required": "Enter the code."},
    )
