"""Checks the answers that people send."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings

from inbox.answering.editing import choices, edits
from inbox.rendering.json_text import as_typed
from wake.models import Delivery, Response

LONGEST_FEEDBACK = 20_000
# Sent for choice blocks. The options decide between approval and redirect.
CHOSEN = "chosen"
NO_ANSWER = "Choose an answer."


class AnswerForm(forms.Form):
    """Reads an answer to one delivery; `cleaned_data["edited_json"]` is the edit, or None."""

    status = forms.ChoiceField(
        choices=[*Response.Status.choices, (CHOSEN, "Chosen")],
        error_messages={
            "required": NO_ANSWER,
            "invalid_choice": NO_ANSWER,
        },
    )
    feedback = forms.CharField(
        required=False,
        max_length=LONGEST_FEEDBACK,
        strip=False,
        error_messages={
            "max_length": f"Your message is too long ({LONGEST_FEEDBACK:,} characters at most). "
            "Shorten it, or use an edit."
        },
    )
    edited_content = forms.CharField(required=False, strip=False)
    edited_as = forms.ChoiceField(
        choices=[(kind, kind) for kind in (edits.JSON, edits.TEXT, edits.FIELDS)],
        required=False,
        error_messages={"invalid_choice": "Choose whether to send the edit as JSON or as text."},
    )
    content_hash = forms.CharField(required=False, max_length=64)
    # True if the page said that a new version replaced the delivery.
    knows_replaced = forms.BooleanField(required=False)

    def __init__(self, data: Any, *, delivery: Delivery) -> None:
        super().__init__(data)
        self.delivery = delivery
        self.original = edits.Original.of(delivery)

    def clean_feedback(self) -> str:
        """Changes the line ends back to LF, because a form sends CRLF."""
        feedback: str = self.cleaned_data["feedback"]
        return feedback.replace("\r\n", "\n")

    def clean_edited_content(self) -> str:
        content: str = self.cleaned_data["edited_content"]
        if len(content.encode()) > settings.WAKE_MAX_BODY_BYTES:
            raise forms.ValidationError("The edit is too long.")
        return content

    def clean(self) -> dict[str, Any]:
        cleaned = self._with_edit(super().clean() or {})
        is_approval = "status" in self.fields and cleaned.get("status") == Response.Status.APPROVED
        if is_approval and (problem := choices.undecided(self.original)):
            self.add_error(None, problem)
        if cleaned.get("status") == CHOSEN and not self.errors:  # sent by the editor, by hand
            self.add_error("status", NO_ANSWER)
        return cleaned

    def edit_errors(self) -> dict[str, str]:
        """Returns the errors of the edit, each by the name of its input."""
        edit_errors = self.errors.as_data().get("edited_content", [])
        return {str(error.code): "".join(error.messages) for error in edit_errors}

    def edit_as_typed(self) -> str:
        """Returns the edit as text, or an empty text if nothing changed. Each field that cannot be
        read yet is one line."""
        if "edited_json" in self.cleaned_data:
            return as_typed(self.cleaned_data["edited_json"])
        if self.data.get("edited_as") != edits.FIELDS:
            return str(self.data.get("edited_content", ""))
        typed = edits.typed_into(edits.fields(self.original), self.data, errors={})
        return "\n".join(f"{field.label}: {field.value}" for field in typed)

    def _with_edit(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        if self.errors.keys() & {"edited_as", "edited_content"}:
            return cleaned
        try:
            if not cleaned.get("edited_as"):
                typed = edits.typed_values(self.original, self.data)
                if cleaned.get("status") == CHOSEN or typed:
                    return self._with_inputs(cleaned, typed)
            cleaned["edited_json"] = edits.edited_json(
                self.original,
                kind=cleaned.get("edited_as") or self.original.kind,
                text=cleaned.get("edited_content", ""),
                data=self.data,
            )
        except edits.InvalidInput as error:
            self.add_error("edited_content", forms.ValidationError(str(error), code=error.field))
        return cleaned

    def _with_inputs(self, cleaned: dict[str, Any], typed: dict[str, Any]) -> dict[str, Any]:
        """Turns the options and the values of the page into an approval if they are the agent's
        proposal, and otherwise into a redirect. An answer in words keeps the changed values. A
        rejection has no values."""
        status = cleaned.get("status")
        if status == Response.Status.REJECTED:
            return cleaned | {"edited_json": None}
        try:
            clicked = choices.all_clicked(self.original, self.data) if status == CHOSEN else {}
        except edits.InvalidInput as error:
            self.add_error(None, str(error))
            return cleaned
        edit = choices.with_values(self.original, {**clicked, **typed})
        is_proposal = edits.is_same(edit, self.original.json)
        is_approval = is_proposal and status != Response.Status.REDIRECTED
        return cleaned | {
            "status": Response.Status.APPROVED if is_approval else Response.Status.REDIRECTED,
            "edited_json": None if is_proposal else edit,
        }


class PreviewForm(AnswerForm):
    """Reads the editor's answer form, to preview an edit before the person chooses an answer."""

    status = None  # type: ignore[assignment]
