"""Defines the form of an assignment rule."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms

from accounts.models import Membership
from inbox.assignment.sentences import TYPES, Names
from inbox.pages.name_field import NameField
from wake.assignment.rules import LONGEST_DAYS, Terms
from wake.models import RuleVersion
from wake.models.rules import LONGEST_POINTER, LONGEST_VALUE

INPUT = {"class": "input"}
ROLES = [
    ("", "No role"),
    (Membership.Role.OWNER, "All owners"),
    (Membership.Role.REVIEWER, "All reviewers"),
]


def _boxes(**options: Any) -> forms.TypedMultipleChoiceField:
    return forms.TypedMultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, **options
    )


class RuleForm(forms.Form):
    """Takes everything that a rule says; what is empty matches every delivery."""

    rule_name = NameField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto"}),
        error_messages={"required": "Enter a name."},
    )
    types = _boxes(
        label="Types",
        choices=[(value, words.capitalize()) for value, words in TYPES.items()],
        help_text="None means all types.",
    )
    agents = _boxes(label="Agents", help_text="None means all agents.")
    thread_prefix = forms.CharField(
        label="Thread begins with",
        required=False,
        max_length=128,
        strip=False,
        widget=forms.TextInput(attrs=INPUT),
    )
    pointer = forms.CharField(
        label="Value in the details",
        required=False,
        max_length=LONGEST_POINTER,
        strip=False,
        widget=forms.TextInput(attrs={**INPUT, "autocapitalize": "none", "spellcheck": "false"}),
        help_text="A JSON pointer such as /order/total. Empty: the whole text.",
    )
    operator = forms.ChoiceField(
        label="Comparison",
        required=False,
        choices=[("", "No comparison"), *RuleVersion.Operator.choices],
        widget=forms.Select(attrs=INPUT),
    )
    value = forms.CharField(
        label="Compared with",
        required=False,
        max_length=LONGEST_VALUE,
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto"}),
    )
    people = _boxes(label="Assign to", coerce=int)
    role = forms.ChoiceField(
        label="And to", required=False, choices=ROLES, widget=forms.Select(attrs=INPUT)
    )
    only_they = forms.BooleanField(
        label="Only they can answer",
        required=False,
        help_text="An owner can still take a delivery.",
    )
    days = forms.IntegerField(
        label="Ends after (days)",
        min_value=1,
        max_value=LONGEST_DAYS,
        initial=LONGEST_DAYS,
        widget=forms.NumberInput(attrs=INPUT),
        help_text=f"At most {LONGEST_DAYS}. Save the rule again to extend it.",
    )

    def __init__(self, *args: Any, names: Names, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, choices in (("agents", names.agents), ("people", names.people)):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
            field.choices = list(choices.items())

    def terms(self, *, at: datetime) -> Terms:
        """Returns what rules.add() and rules.change() take."""
        data = self.cleaned_data
        is_comparing = bool(data["operator"])
        return {
            "agents": data["agents"],
            "types": data["types"],
            "thread_prefix": data["thread_prefix"],
            "pointer": data["pointer"] if is_comparing else "",
            "operator": data["operator"],
            "value": data["value"] if is_comparing else "",
            "people": data["people"],
            "role": data["role"],
            "only_they": data["only_they"],
            "expires_at": at + timedelta(days=data["days"]),
        }


def initial_of(version: RuleVersion) -> dict[str, Any]:
    """Returns what the form of an existing rule shows; its time begins again."""
    fields = ("agents", "types", "thread_prefix", "pointer", "operator", "value", "people", "role")
    same = {name: getattr(version, name) for name in fields}
    return {**same, "only_they": version.only_they, "rule_name": version.rule.name}
