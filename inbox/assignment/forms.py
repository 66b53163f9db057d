"""Defines the forms of the two kinds of rules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django import forms

from accounts.models import Membership
from inbox.assignment.sentences import TYPES, Names
from pages.fields import INPUT, NameField
from wake.answering.rules import MAX_A_DAY, MAX_DAYS_FOR_PEOPLE
from wake.answering.rules import TYPES as ANSWERED
from wake.answering.rules import AnsweringTerms as AnsweringTerms
from wake.assignment.rules import (
    LONGEST_DAYS,
    LONGEST_MINUTES,
    MAX_NEEDED,
    MAX_STEPS,
    MatchTerms,
    Terms,
)
from wake.models import AnsweringVersion, RuleVersion
from wake.models.rules import LONGEST_POINTER, LONGEST_VALUE, EscalationStep, Match

NO_TIME = "Enter the minutes for this step, or choose no one."
NO_COMPARISON = "Choose a comparison, or empty both fields."
STEPS = range(1, MAX_STEPS + 1)
GROUPS: list[tuple[str, tuple[str, ...]]] = [
    ("", ("rule_name",)),
    (
        "Deliveries",
        ("types", "agents", "thread_prefix", "pointer", "operator", "value"),
    ),
    ("People", ("people", "role", "only_they", "needed", "must_wait")),
    ("Approval", ("needs_signature", "claim_within_minutes")),
    ("End", ("days",)),
]
ROLES = [
    ("", "No role"),
    (Membership.Role.OWNER, "All owners"),
    (Membership.Role.REVIEWER, "All reviewers"),
]


def _boxes(**options: Any) -> forms.TypedMultipleChoiceField:
    return forms.TypedMultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, **options
    )


def _fields_of_step(step: int) -> dict[str, forms.Field]:
    """Returns the fields of one step of escalation."""
    return {
        f"after_{step}": forms.IntegerField(
            label=f"Step {step}: after (minutes)",
            required=False,
            min_value=1,
            max_value=LONGEST_MINUTES,
            widget=forms.NumberInput(attrs=INPUT),
            help_text="Minutes after the delivery arrives. Leave empty to skip this step.",
        ),
        f"people_{step}": _boxes(label="Also assign to", coerce=int),
        f"role_{step}": forms.ChoiceField(
            label="And to", required=False, choices=ROLES, widget=forms.Select(attrs=INPUT)
        ),
    }


class MatchForm(forms.Form):
    """Reads which deliveries a rule matches. An empty field matches every delivery."""

    rule_name = NameField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto"}),
        error_messages={"required": "Enter a name."},
    )
    types = _boxes(
        label="Types",
        choices=[(value, words.capitalize()) for value, words in TYPES.items()],
        help_text="Leave empty for all types.",
    )
    agents = _boxes(label="Agents", help_text="Leave empty for all agents.")
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
        help_text="A JSON pointer such as /order/total. Leave empty to compare the whole text.",
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
    days = forms.IntegerField(
        label="Ends after (days)",
        min_value=1,
        max_value=LONGEST_DAYS,
        initial=LONGEST_DAYS,
        widget=forms.NumberInput(attrs=INPUT),
        help_text=f"At most {LONGEST_DAYS}.",
    )

    def __init__(self, *args: Any, names: Names, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._offer("agents", names.agents)

    def _offer(self, name: str, choices: Mapping[Any, str]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
        field.choices = list(choices.items())

    def clean(self) -> dict[str, Any]:
        """Refuses an incomplete comparison, because without a comparison the rule would match every
        delivery."""
        cleaned = super().clean() or {}
        if cleaned.get("operator") == "" and (cleaned.get("pointer") or cleaned.get("value")):
            self.add_error("operator", NO_COMPARISON)
        return cleaned

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Returns the fields with their headings, except the fields of escalation."""
        return [("", list(self))]

    def match_terms(self, *, at: datetime) -> MatchTerms:
        data = self.cleaned_data
        return {
            "agents": data["agents"],
            "types": data["types"],
            "thread_prefix": data["thread_prefix"],
            "pointer": data["pointer"],
            "operator": data["operator"],
            "value": data["value"],
            "expires_at": at + timedelta(days=data["days"]),
        }


class RuleForm(MatchForm):
    """Reads an assignment rule."""

    people = _boxes(label="Assign to", coerce=int)
    role = forms.ChoiceField(
        label="And to", required=False, choices=ROLES, widget=forms.Select(attrs=INPUT)
    )
    only_they = forms.BooleanField(
        label="Only they can answer",
        required=False,
        help_text="An owner can still take a delivery.",
    )
    needed = forms.IntegerField(
        label="People who have to approve",
        required=False,
        min_value=1,
        max_value=MAX_NEEDED,
        initial=1,
        widget=forms.NumberInput(attrs=INPUT),
        help_text="One rejection or request for changes decides at once.",
    )
    must_wait = forms.BooleanField(
        label="If no one answers, the agent waits",
        required=False,
        help_text="It doesn't go ahead after its deadline, even if it planned to.",
    )
    needs_signature = forms.BooleanField(
        label="Approving needs a passkey",
        required=False,
        help_text="Each person who approves signs with their passkey, on the delivery's page. "
        "The agent then waits for the answer.",
    )
    claim_within_minutes = forms.IntegerField(
        label="Time to use an approval (minutes)",
        required=False,
        min_value=1,
        max_value=LONGEST_MINUTES,
        widget=forms.NumberInput(attrs=INPUT),
        help_text="After that, a claim of the agent or of a gate is refused. Leave empty for no "
        "limit.",
    )

    def __init__(self, *args: Any, names: Names, **kwargs: Any) -> None:
        super().__init__(*args, names=names, **kwargs)
        self.fields["days"] = days = self.fields.pop("days")  # last of the main fields
        days.help_text = f"{days.help_text} Save the rule again to extend it."
        for step in STEPS:
            self.fields |= _fields_of_step(step)
        for name in ("people", *(f"people_{step}" for step in STEPS)):
            self._offer(name, names.people)

    def clean(self) -> dict[str, Any]:
        """Refuses a step of escalation that has people and no time."""
        cleaned = super().clean()
        for step in STEPS:
            whom = cleaned.get(f"people_{step}") or cleaned.get(f"role_{step}")
            if whom and cleaned.get(f"after_{step}", 0) is None:
                self.add_error(f"after_{step}", NO_TIME)
        return cleaned

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [(heading, [self[name] for name in names]) for heading, names in GROUPS]

    @property
    def step_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name[-1].isdigit()]

    @property
    def has_steps(self) -> bool:
        """Returns whether a field of escalation has a value."""
        return any(field.value() or field.errors for field in self.step_fields)

    def terms(self, *, at: datetime) -> Terms:
        """Returns the arguments of rules.add() and rules.change()."""
        data = self.cleaned_data
        return {
            **self.match_terms(at=at),
            "people": data["people"],
            "role": data["role"],
            "only_they": data["only_they"],
            "needed": data["needed"] or 1,
            "must_wait": data["must_wait"] or data["needs_signature"],
            "needs_signature": data["needs_signature"],
            "claim_within_seconds": (data["claim_within_minutes"] or 0) * 60 or None,
            "escalation": self._escalation(),
        }

    def _escalation(self) -> list[EscalationStep]:
        """Returns the steps of the escalation for which a time was given."""
        data = self.cleaned_data
        return [
            {
                "minutes": data[f"after_{step}"],
                "people": data[f"people_{step}"],
                "role": data[f"role_{step}"],
            }
            for step in STEPS
            if data[f"after_{step}"]
        ]


class AnsweringRuleForm(MatchForm):
    """Reads an answering rule."""

    types = _boxes(label="Types", choices=[(each, TYPES[each].capitalize()) for each in ANSWERED])
    most_a_day = forms.IntegerField(
        label="Approvals a day, at most",
        min_value=1,
        max_value=MAX_A_DAY,
        initial=50,
        widget=forms.NumberInput(attrs=INPUT),
        help_text="Deliveries over this number go to people. Days are in UTC.",
    )
    ask_people_days = forms.IntegerField(
        label="After a rejection, ask people for (days)",
        min_value=1,
        max_value=MAX_DAYS_FOR_PEOPLE,
        initial=1,
        widget=forms.NumberInput(attrs=INPUT),
        help_text=(
            "When people reject, request changes to, or undo a matching delivery, people answer "
            f"that agent's deliveries for this long. At most {MAX_DAYS_FOR_PEOPLE}."
        ),
    )

    def terms(self, *, at: datetime) -> AnsweringTerms:
        """Returns the arguments of rules.add() and rules.change() in wake/answering/."""
        return {
            **self.match_terms(at=at),
            "most_a_day": self.cleaned_data["most_a_day"],
            "ask_people_days": self.cleaned_data["ask_people_days"],
        }


def initial_of(version: RuleVersion) -> dict[str, Any]:
    """Returns the values for the form of an existing rule. The time until the rule ends begins
    again."""
    steps = {
        f"{name}_{number}": value
        for number, step in enumerate(version.escalation, 1)
        for name, value in (
            ("after", step["minutes"]),
            ("people", step["people"]),
            ("role", step["role"]),
        )
    }
    return {
        **_match_of(version),
        **steps,
        "people": version.people,
        "role": version.role,
        "only_they": version.only_they,
        "needed": version.needed,
        "must_wait": version.must_wait,
        "needs_signature": version.needs_signature,
        "claim_within_minutes": (version.claim_within_seconds or 0) // 60 or None,
        "rule_name": version.rule.name,
    }


def initial_of_answering(version: AnsweringVersion) -> dict[str, Any]:
    """Returns the initial values of the form for an answering rule."""
    return {
        **_match_of(version),
        "rule_name": version.rule.name,
        "most_a_day": version.most_a_day,
        "ask_people_days": version.ask_people_days,
    }


def _match_of(version: Match) -> dict[str, Any]:
    fields = ("agents", "types", "thread_prefix", "pointer", "operator", "value")
    return {name: getattr(version, name) for name in fields}
