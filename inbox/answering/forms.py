"""Checks the answers that people send."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings

from inbox.editing import edits
from wake.models import Delivery, Response

LONGEST_FEEDBACK = 20_000
# Sent for a choice block: the option decides between approval and redirect.
CHOSEN = "chosen"


class AnswerForm(forms.Form):
    """An answer to one delivery; `cleaned_data["edited_json"]` is the edit, or None."""

    status = forms.ChoiceField(
        choices=[*Response.Status.choices, (CHOSEN, "Chosen")],
        error_messages={
            "required": "Choose an answer.",
            "invalid_choice": "Choose an answer.",
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
        error_messages={"invalid_choice": "Choose whether to send the edit as JSON or as text."},
    )
    choice = forms.CharField(required=False, strip=False)
    content_hash = forms.CharField(required=False, max_length=64)
    # Whether the page said that a new version replaced the delivery.
    knows_replaced = forms.BooleanField(required=False)

    def __init__(self, data: Any, *, delivery: Delivery) -> None:
        super().__init__(data)
        self.delivery = delivery
        self.original = edits.Original.of(delivery)

    def clean_feedback(self) -> str:
        """Changes the line ends back to LF: a form sends CRLF."""
        feedback: str = self.cleaned_data["feedback"]
        return feedback.replace("\r\n", "\n")

    def clean_edited_content(self) -> str:
        content: str = self.cleaned_data["edited_content"]
        if len(content.encode()) > settings.WAKE_MAX_BODY_BYTES:
            raise forms.ValidationError("The edit is too long.")
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
        """Returns the errors of the edit, by the name of the input where it was typed."""
        edit_errors = self.errors.as_data().get("edited_content", [])
        return {str(error.code): "".join(error.messages) for error in edit_errors}

    def edit_as_typed(self) -> str:
        """Returns the edit as text; empty if nothing changed. Fields that cannot be read yet are
        one line each."""
        if "edited_json" in self.cleaned_data:
            return edits.as_typed(self.cleaned_data["edited_json"])
        if self.data.get("edited_as") != edits.FIELDS:
            return str(self.data.get("edited_content", ""))
        typed = edits.typed_into(edits.fields(self.original), self.data, errors={})
        return "\n".join(f"{field.label}: {field.value}" for field in typed)

    def _with_choice(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Turns the chosen option into an approval if it is the recommended one, else into a
        redirect."""
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
    """The answer form of the editor, which previews an edit before an answer is chosen."""

    status = None  # type: ignore[assignment]
