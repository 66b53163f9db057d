"""Defines the form of a saved reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms

from inbox.models import SavedReply
from inbox.reading.status_words import STATUS_LABELS
from pages.fields import INPUT

if TYPE_CHECKING:
    SavedReplyModelForm = forms.ModelForm[SavedReply]
else:
    SavedReplyModelForm = forms.ModelForm


class SavedReplyForm(SavedReplyModelForm):
    status = forms.ChoiceField(
        label="Use with", choices=list(STATUS_LABELS.items()), widget=forms.Select(attrs=INPUT)
    )

    class Meta:
        model = SavedReply
        fields = ("status", "name", "text")
        labels = {"text": "Text"}
        widgets = {
            "name": forms.TextInput(attrs={**INPUT, "dir": "auto"}),
            "text": forms.Textarea(attrs={**INPUT, "rows": 4, "dir": "auto"}),
        }
        help_texts = {
            "name": "Only you see this name.",
            "text": "Sent to the agent as feedback.",
        }

    def clean_text(self) -> str:
        """Changes the line ends back to LF, because a form sends CRLF."""
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")
