"""What people send: who they are, and their answers."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings

from inbox import edits
from wake.models import Delivery, Response

LONGEST_FEEDBACK = 20_000
# The answer to a choice; which of the three it is depends on the option.
CHOSEN = "chosen"


class AnswerForm(forms.Form):
    """An answer to one delivery; `cleaned_data["edited_json"]` is the edit, or None."""

    status = forms.ChoiceField(
        choices=[*Response.Status.choices, (CHOSEN, "Chosen")],
        error_messages={
            "required": "Choose an answer.",
            "invalid_choice": "Choose an answer: approve, reject or redirect.",
        },
    )
    feedback = forms.CharField(
        required=False,
        max_length=LONGEST_FEEDBACK,
        strip=False,
        error_messages={
            "max_length": "The feedback is longer than %(limit_value)d characters: "
            "shorten it, or put the long part into the edit."
        },
    )
    edited_content = forms.CharField(required=False, strip=False)
    edited_as = forms.ChoiceField(
        choices=[(kind, kind) for kind in (edits.JSON, edits.TEXT, edits.FIELDS)],
        required=False,
        error_messages={"invalid_choice": "The edit is sent as json or as text."},
    )
    choice = forms.CharField(required=False, strip=False)
    content_hash = forms.CharField(required=False, max_length=64)

    def __init__(self, data: Any, *, delivery: Delivery) -> None:
        super().__init__(data)
        self.delivery = delivery
        self.original = edits.Original.of(delivery)

    def clean_feedback(self) -> str:
        """A form sends every line end as CRLF."""
        feedback: str = self.cleaned_data["feedback"]
        return feedback.replace("\r\n", "\n")

    def clean_edited_content(self) -> str:
        content: str = self.cleaned_data["edited_content"]
        if len(content.encode()) > settings.WAKE_MAX_BODY_BYTES:
            raise forms.ValidationError("The edit is longer than what agents may send.")
        return content

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("status") == CHOSEN:
            return self._with_choice(cleaned)
        if self.errors.keys() & {"edited_as", "edited_content"}:
            return cleaned
        try:
            cleaned["edited_json"] = edits.edited_json(
                self.original,
                kind=cleaned.get("edited_as") or self.original.kind,
                text=cleaned.get("edited_content", ""),
                data=self.data,
            )
        except edits.Unreadable as error:
            self.add_error("edited_content", forms.ValidationError(str(error), code=error.field))
        return cleaned

    def edit_errors(self) -> dict[str, str]:
        """What is wrong with the edit, by the name of the field where it was typed."""
        found = self.errors.as_data().get("edited_content", [])
        return {str(error.code): "".join(error.messages) for error in found}

    def edit_as_typed(self) -> str:
        """Empty where nothing was changed; of fields that cannot be read yet, a line each."""
        if "edited_json" in self.cleaned_data:
            return edits.as_typed(self.cleaned_data["edited_json"])
        if self.data.get("edited_as") != edits.FIELDS:
            return str(self.data.get("edited_content", ""))
        typed = edits.typed_into(edits.fields(self.original), self.data, errors={})
        return "\n".join(f"{field.label}: {field.value}" for field in typed)

    def _with_choice(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Of an option that was shown: the recommended one is an approval, another a redirect."""
        choice = edits.choice_of(self.original)
        option = choice.option(cleaned.get("choice")) if choice else None
        if option is None:
            self.add_error("choice", edits.NOT_AN_OPTION)
            return cleaned
        approved = option.is_recommended
        return cleaned | {
            "status": Response.Status.APPROVED if approved else Response.Status.REDIRECTED,
            "edited_json": None if approved else edits.with_choice(self.original, option.id),
        }


class PreviewForm(AnswerForm):
    """The same without a choice: the editor's, before anything is sent."""

    status = None  # type: ignore[assignment]
