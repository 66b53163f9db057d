"""Defines the form in which owners create a gate key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.http import QueryDict

from accounts.agents.gates import MAX_NAME
from accounts.models import Agent, Team
from inbox.agents.forms import ExpiryForm
from pages.characters.names import SINGLE_LINE, visible
from pages.fields import INPUT

if TYPE_CHECKING:
    ManyAgents = forms.ModelMultipleChoiceField[Agent]
else:
    ManyAgents = forms.ModelMultipleChoiceField


class GateForm(ExpiryForm):
    """Reads the form for a gate key. `version` is the number of the team's gate keys when the page
    was made. Keys are never deleted, so a larger number means that the form may have been sent
    before."""

    name = forms.CharField(
        label="Name",
        max_length=MAX_NAME,
        validators=[SINGLE_LINE, visible],
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto", "autocomplete": "off"}),
        help_text="The service that uses the key. People see it where an approval was used.",
        error_messages={"required": "Enter a name."},
    )
    agents = ManyAgents(
        label="Agents",
        queryset=Agent.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text="The key can use approvals of these agents only.",
        error_messages={"required": "Choose at least one agent."},
    )
    version = forms.IntegerField(widget=forms.HiddenInput)
    field_order = ["name", "agents", "days"]

    def __init__(self, data: QueryDict | None, *, team: Team) -> None:
        super().__init__(data, initial={"version": team.gates.count()})
        field = self.fields["agents"]
        assert isinstance(field, forms.ModelMultipleChoiceField)  # noqa: S101 - for the type checker
        field.queryset = Agent.objects.active().filter(team=team).order_by("agent_id")
