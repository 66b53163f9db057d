"""Checks the comments that people write."""

from __future__ import annotations

from django import forms

LONGEST_COMMENT = 4_000
SEND_AGAIN = "This page was out of date. Send your comment again."


class CommentForm(forms.Form):
    """Reads a comment. `id` was created with the page (comments.write_comment)."""

    id = forms.UUIDField(error_messages={"required": SEND_AGAIN, "invalid": SEND_AGAIN})
    text = forms.CharField(
        max_length=LONGEST_COMMENT,
        error_messages={
            "required": "Write something first.",
            "max_length": "A comment has at most %(limit_value)d characters: shorten it, or write "
            "two.",
        },
    )

    def clean_text(self) -> str:
        """Changes the line ends back to LF, because a form sends CRLF."""
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")
