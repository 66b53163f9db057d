"""Defines the forms in which people add channels and choose what channels notify about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from accounts.models import Agent
from inbox.models import EVERY_DAY, Channel, Event
from inbox.notifications.channels.batches import zone_for
from inbox.notifications.channels.channels import Limits
from inbox.notifications.channels.kinds.kind import BadAddress, Kind
from inbox.people.settings.forms import ENDS_NEXT_DAY, DaysField, check_quiet_hours
from pages.fields import ClockField, NameField

INPUT = {"class": "input"}
PLAIN = {**INPUT, "autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}
OF_A_TEAM = [Event.QUESTION, Event.ALERT, Event.CLOSING, Event.ASSUMED]
OF_A_PERSON = [*OF_A_TEAM, Event.ASSIGNED, Event.MENTION, Event.DIGEST]
LONGEST_EXTRA = 500
MOST_AN_HOUR = 60
LIMITS = ("quiet_from", "quiet_until", "quiet_days", "most_an_hour")


def events_of(channel: Channel) -> list[Event]:
    """Returns the events that the channel can send. A person sets the digest by e-mail elsewhere,
    so an e-mail channel cannot send it."""
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
    """Reads the name of a new channel, and its address as its kind checks it."""

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
        """Refuses what an HTTP header cannot carry."""
        text: str = self.cleaned_data["extra"]
        if not (text.isascii() and text.isprintable()):
            raise forms.ValidationError("Use ASCII letters, digits and symbols only.")
        return text


class ChoiceForm(forms.Form):
    """Reads which events a channel sends, for which agents, and its limits."""

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
    quiet_from = ClockField(label="Quiet from", required=False)
    quiet_until = ClockField(label="Quiet until", required=False)
    quiet_days = DaysField(label="Quiet on", required=False)
    most_an_hour = forms.IntegerField(
        label="Messages an hour, at most",
        required=False,
        min_value=1,
        max_value=MOST_AN_HOUR,
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
            self.fields["events"].label = "Notify the team about"
            zone = zone_for(channel)
            self.fields["quiet_until"].help_text = f"{ENDS_NEXT_DAY} Times are in {zone}."
        else:
            for name in LIMITS:  # of a person, for all of their channels (Settings, Quiet hours)
                del self.fields[name]
        if not choices["agents"]:
            del self.fields["agents"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "quiet_from" in self.fields and not self.errors:
            check_quiet_hours(
                self, never="These hours never end. To get no messages, choose no events."
            )
        return cleaned

    def limits(self) -> Limits:
        data = self.cleaned_data
        return Limits(
            quiet_from=data.get("quiet_from"),
            quiet_until=data.get("quiet_until"),
            quiet_days=data.get("quiet_days") or EVERY_DAY,
            most_an_hour=data.get("most_an_hour"),
        )


def _named(agents: Sequence[Agent], *, stored: Sequence[str]) -> list[tuple[str, str]]:
    """Names the agents; with their teams if these are several. Each stored id is a choice: without
    it a form would drop the last id, and no id means all agents."""
    are_of_one = len({agent.team_id for agent in agents}) < 2
    names = {}
    for agent in agents:
        notes = [] if are_of_one else [agent.team.name]
        notes += ["archived"] if agent.archived_at else []
        names[str(agent.pk)] = f"{agent.agent_id} ({', '.join(notes)})" if notes else agent.agent_id
    gone = {pk: "An agent that you can no longer see" for pk in stored if pk not in names}
    return [*names.items(), *gone.items()]


class CodeForm(forms.Form):
    """Reads the code that was sent through the channel."""

    code = forms.CharField(
        label="Code",
        max_length=10,
        widget=forms.TextInput(
            attrs={**INPUT, "inputmode": "numeric", "autocomplete": "one-time-code"}
        ),
        error_messages={"required": "Enter the code."},
    )
