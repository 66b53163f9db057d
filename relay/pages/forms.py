"""Reads the forms about an agent's card and its callers. The cleaned data of each form are the
arguments of its verb."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.forms.formsets import DELETION_FIELD_NAME
from django.http import QueryDict
from django.utils.text import slugify

from accounts.models import SINGLE_LINE
from inbox.agents.forms import ExpiryForm
from pages.characters.names import visible
from pages.fields import INPUT
from relay.cards.skills import MAX_SKILLS
from relay.models import CallerKey, Card
from relay.models.cards import LONGEST_RUN, MAX_CONCURRENCY, check_media_type

if TYPE_CHECKING:
    ManyCallers = forms.ModelMultipleChoiceField[CallerKey]
    SkillFormSet = forms.BaseFormSet["SkillForm"]
else:
    ManyCallers = forms.ModelMultipleChoiceField
    SkillFormSet = forms.BaseFormSet

THE_REST = [
    *("input_modes", "output_modes", "timeout_seconds", "max_concurrency"),
    *("profile", "version"),
]


class LinesField(forms.CharField):
    """Reads a list with one item on each line. Forms send line ends as CRLF."""

    def __init__(self, *, rows: int, **kwargs: Any) -> None:
        widget = forms.Textarea(attrs={**INPUT, "rows": rows, "spellcheck": "false"})
        super().__init__(widget=widget, max_length=2_000, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        lines = (line.strip() for line in super().clean(value).splitlines())
        return list(dict.fromkeys(line for line in lines if line))


class MediaTypesField(LinesField):
    def clean(self, value: Any) -> list[str]:
        types = super().clean(value)
        for each in types:
            check_media_type(each)
        return types


class CallersField(ManyCallers):
    def label_from_instance(self, key: Any) -> str:
        return f"{key.name} ({key.hint})"


class CardForm(forms.Form):
    description = forms.CharField(
        label="Description",
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs={**INPUT, "rows": 3, "dir": "auto"}),
        help_text="Once published, anyone on the internet can read this.",
    )
    access = forms.ChoiceField(
        label="Access",
        choices=Card.Access.choices,
        widget=forms.RadioSelect,
        help_text="If anyone can call it, what they send runs on your connector's machine.",
    )
    callers = CallersField(
        label="Caller keys",
        queryset=CallerKey.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Used only if access is limited to selected keys.",
    )
    reply_policy = forms.ChoiceField(
        label="Questions are answered by",
        choices=Card.ReplyPolicy.choices,
        widget=forms.RadioSelect,
        help_text="A caller's reply lets the agent continue, but doesn't count as approval.",
    )
    input_modes = MediaTypesField(
        label="Input types", rows=2, help_text="Media types, one per line. Use */* for any."
    )
    output_modes = MediaTypesField(
        label="Output types", rows=2, help_text="Media types, one per line."
    )
    timeout_seconds = forms.IntegerField(
        label="Timeout per run (seconds)",
        min_value=1,
        max_value=LONGEST_RUN,
        widget=forms.NumberInput(attrs=INPUT),
    )
    max_concurrency = forms.IntegerField(
        label="Concurrent runs",
        min_value=1,
        max_value=MAX_CONCURRENCY,
        widget=forms.NumberInput(attrs=INPUT),
    )
    profile = forms.ChoiceField(
        label="A2A versions", choices=Card.Profile.choices, widget=forms.RadioSelect
    )
    version = forms.CharField(
        max_length=32,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**INPUT, "spellcheck": "false"}),
        help_text="If you leave the version as it is, Wake increases it with each change.",
    )

    def __init__(self, card: Card, data: QueryDict | None, *, at: datetime) -> None:
        names = [name for name in self.base_fields if name != "callers"]
        initial = {name: getattr(card, name) for name in names}
        if not card._state.adding:
            initial["callers"] = list(card.callers.all())
        super().__init__(data, initial=initial)
        mine = Q(pk__in=CallerKey.objects.usable(at)) | Q(cards=card)
        rows = CallerKey.objects.filter(mine, team=card.agent.team_id).distinct()
        field = self.fields["callers"]
        assert isinstance(field, CallersField)  # noqa: S101 - for the type checker
        field.queryset = rows.order_by("name", "created_at")

    def the_rest(self) -> list[forms.BoundField]:
        """Returns the fields that few people change."""
        return [self[name] for name in THE_REST]

    def has_errors_in_the_rest(self) -> bool:
        return not self.errors.keys().isdisjoint(THE_REST)

    def clean_description(self) -> str:
        text: str = self.cleaned_data["description"]
        return text.replace("\r\n", "\n")


class SkillForm(forms.Form):
    """Reads one skill of the card."""

    name = forms.CharField(
        max_length=80,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto"}),
    )
    description = forms.CharField(
        label="Description",
        max_length=1_000,
        widget=forms.Textarea(attrs={**INPUT, "rows": 2, "dir": "auto"}),
    )
    tags = forms.CharField(
        max_length=200,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs=INPUT),
        help_text="Separate tags with commas.",
    )
    examples = LinesField(
        label="Example requests",
        rows=2,
        required=False,
        help_text="One per line.",
    )
    id = forms.CharField(
        label="ID",
        required=False,
        max_length=80,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**INPUT, "spellcheck": "false"}),
        help_text="Leave empty to create it from the name.",
    )

    def clean_tags(self) -> list[str]:
        tags = (tag.strip() for tag in self.cleaned_data["tags"].split(","))
        unique = list(dict.fromkeys(tag for tag in tags if tag))
        if not unique:
            raise ValidationError("Enter at least one.")
        return unique

    def skill(self) -> dict[str, Any]:
        data = self.cleaned_data
        skill = {
            "id": data["id"] or slugify(data["name"]) or "skill",
            "name": data["name"],
            "description": data["description"].replace("\r\n", "\n"),
            "tags": data["tags"],
        }
        return {**skill, "examples": data["examples"]} if data["examples"] else skill


class Skills(SkillFormSet):
    """Reads the skills of a card. Each skill has a checkbox to remove it, and an empty skill allows
    adding another."""

    def add_fields(self, form: SkillForm, index: int | None) -> None:
        super().add_fields(form, index)
        form.fields[DELETION_FIELD_NAME].label = "Remove this skill"

    def clean(self) -> None:
        ids = [] if any(self.errors) else [skill["id"] for skill in self.skills()]
        if len(ids) != len(set(ids)):
            raise ValidationError("Two skills have the same ID.")

    def skills(self) -> list[dict[str, Any]]:
        """Returns the skills in the form that the card stores (relay/models/cards.py)."""
        return [form.skill() for form in self.forms if not _is_gone(form)]


def _is_gone(form: SkillForm) -> bool:
    """Returns whether a skill was removed or is still empty."""
    is_empty = form.empty_permitted and not form.has_changed()
    return is_empty or bool(form.cleaned_data.get(DELETION_FIELD_NAME))


SkillForms = forms.formset_factory(
    SkillForm,
    formset=Skills,
    extra=1,
    can_delete=True,
    max_num=MAX_SKILLS,
    validate_max=True,
    absolute_max=MAX_SKILLS + 1,
)


def skill_forms(card: Card, data: Any = None) -> Skills:
    initial = [{**skill, "tags": ", ".join(skill["tags"])} for skill in card.skills]
    return cast(Skills, SkillForms(data, initial=initial, prefix="skill"))


class CallerKeyForm(ExpiryForm):
    """Reads the name of a new key. `version` is the number of the team's keys when the page was
    made. Keys are never deleted, so each new key makes this number larger, and a form that is sent
    twice is recognised."""

    name = forms.CharField(
        label="Name",
        max_length=80,
        validators=[SINGLE_LINE, visible],
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto", "autocomplete": "off"}),
        help_text="Shown on the tasks of this caller.",
        error_messages={"required": "Enter a name."},
    )
    version = forms.IntegerField(widget=forms.HiddenInput)
    field_order = ["name", "days"]
