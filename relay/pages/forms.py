"""What owners write about an agent's card and about its callers: each form's cleaned data is what
its verb takes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.forms.formsets import DELETION_FIELD_NAME
from django.http import QueryDict
from django.utils.text import slugify

from accounts.models import SINGLE_LINE
from inbox.forms_settings import INPUT
from relay.models import CallerKey, Card
from relay.models.cards import check_media_type

if TYPE_CHECKING:
    ManyCallers = forms.ModelMultipleChoiceField[CallerKey]
    SkillFormSet = forms.BaseFormSet["SkillForm"]
else:
    ManyCallers = forms.ModelMultipleChoiceField
    SkillFormSet = forms.BaseFormSet

LONGEST_RUN = 24 * 3600
SKILLS_AT_MOST = 30
THE_REST = [
    *("input_modes", "output_modes", "timeout_seconds", "max_concurrency"),
    *("profile", "version"),
]
WORKS_FOR = {"": "Until it is revoked", "30": "30 days", "90": "90 days", "365": "A year"}


class LinesField(forms.CharField):
    """A list, one a line; a form sends every line end as CRLF."""

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
        label="What it does",
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs={**INPUT, "rows": 3, "dir": "auto"}),
        help_text="Everybody can read it, other agents and people.",
    )
    access = forms.ChoiceField(
        label="Who may call it", choices=Card.Access.choices, widget=forms.RadioSelect
    )
    callers = CallersField(
        label="The caller keys that may",
        queryset=CallerKey.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Of use where only the keys named here may call.",
    )
    reply_policy = forms.ChoiceField(
        label="When it asks, who answers",
        choices=Card.ReplyPolicy.choices,
        widget=forms.RadioSelect,
        help_text="What a caller writes lets the agent go on. It is never an approval.",
    )
    input_modes = MediaTypesField(
        label="What it takes", rows=2, help_text="Media types, one a line; */* is all of them."
    )
    output_modes = MediaTypesField(label="What it gives", rows=2, help_text="The same.")
    timeout_seconds = forms.IntegerField(
        label="Seconds that one run may take",
        min_value=1,
        max_value=LONGEST_RUN,
        widget=forms.NumberInput(attrs=INPUT),
    )
    max_concurrency = forms.IntegerField(
        label="Runs at a time",
        min_value=1,
        max_value=100,
        widget=forms.NumberInput(attrs=INPUT),
    )
    profile = forms.ChoiceField(
        label="Versions of A2A on its card", choices=Card.Profile.choices, widget=forms.RadioSelect
    )
    version = forms.CharField(
        max_length=32,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**INPUT, "spellcheck": "false"}),
        help_text="Its own. Left alone, it counts up with each change of the card.",
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
        """What hardly anybody changes."""
        return [self[name] for name in THE_REST]

    def has_errors_in_the_rest(self) -> bool:
        return not self.errors.keys().isdisjoint(THE_REST)

    def clean_description(self) -> str:
        text: str = self.cleaned_data["description"]
        return text.replace("\r\n", "\n")


class SkillForm(forms.Form):
    """One of the things that the agent can be asked for."""

    name = forms.CharField(
        max_length=80,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto"}),
    )
    description = forms.CharField(
        label="What it is",
        max_length=1_000,
        widget=forms.Textarea(attrs={**INPUT, "rows": 2, "dir": "auto"}),
    )
    tags = forms.CharField(
        max_length=200,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs=INPUT),
        help_text="A few words to find it by, with commas between them.",
    )
    examples = LinesField(
        label="What a caller might write",
        rows=2,
        required=False,
        help_text="One a line.",
    )
    id = forms.CharField(
        label="Its id",
        required=False,
        max_length=80,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**INPUT, "spellcheck": "false"}),
        help_text="Left empty, it is made of the name.",
    )

    def clean_tags(self) -> list[str]:
        tags = (tag.strip() for tag in self.cleaned_data["tags"].split(","))
        made = list(dict.fromkeys(tag for tag in tags if tag))
        if not made:
            raise ValidationError("Write at least one.")
        return made

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
    """Those that the card has, each with a box to take it away, and an empty one for another."""

    def add_fields(self, form: SkillForm, index: int | None) -> None:
        super().add_fields(form, index)
        form.fields[DELETION_FIELD_NAME].label = "Take it off the card"

    def clean(self) -> None:
        ids = [] if any(self.errors) else [skill["id"] for skill in self.skills()]
        if len(ids) != len(set(ids)):
            raise ValidationError("Two skills have the same id: give each its own.")

    def skills(self) -> list[dict[str, Any]]:
        """As the card has them (relay/models/cards.py)."""
        return [form.skill() for form in self.forms if not _is_gone(form)]


def _is_gone(form: SkillForm) -> bool:
    """Taken away, or the empty one."""
    is_empty = form.empty_permitted and not form.has_changed()
    return is_empty or bool(form.cleaned_data.get(DELETION_FIELD_NAME))


SkillForms = forms.formset_factory(
    SkillForm,
    formset=Skills,
    extra=1,
    can_delete=True,
    max_num=SKILLS_AT_MOST,
    validate_max=True,
    absolute_max=SKILLS_AT_MOST + 1,
)


def skill_forms(card: Card, data: Any = None) -> Skills:
    initial = [{**skill, "tags": ", ".join(skill["tags"])} for skill in card.skills]
    return cast(Skills, SkillForms(data, initial=initial, prefix="skill"))


class CallerKeyForm(forms.Form):
    """`seen` is how many keys the team had when the page was made, so that the same form sent again
    is told from a new one: they are never deleted."""

    name = forms.CharField(
        label="Whose it is",
        max_length=80,
        validators=[SINGLE_LINE],
        widget=forms.TextInput(attrs={**INPUT, "dir": "auto", "autocomplete": "off"}),
        help_text="Its tasks carry this name.",
        error_messages={"required": "Write a name that you will know it by."},
    )
    days = forms.ChoiceField(
        label="It works for",
        required=False,
        choices=list(WORKS_FOR.items()),
        widget=forms.Select(attrs=INPUT),
    )
    seen = forms.IntegerField(widget=forms.HiddenInput)

    def expires_at(self, *, at: datetime) -> datetime | None:
        days = self.cleaned_data["days"]
        return at + timedelta(days=int(days)) if days else None
