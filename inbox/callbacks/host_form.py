"""Defines the form that allows a callback host."""

from __future__ import annotations

import re

from django import forms

from pages.fields import INPUT


class HostForm(forms.Form):
    pattern = forms.CharField(
        label="Host",
        max_length=2048,
        widget=forms.TextInput(
            attrs={
                **INPUT,
                "autocapitalize": "none",
                "spellcheck": "false",
                "placeholder": "hooks.example.com",
            }
        ),
        help_text="hooks.example.com, hooks.example.com:8443, *.example.com for all subdomains, or "
        "a URL, whose host is kept.",
        error_messages={"required": "Enter a host, such as hooks.example.com."},
    )

    def clean_pattern(self) -> str:
        """Returns the host and port of a pasted URL, without its user, path and query."""
        text: str = self.cleaned_data["pattern"].strip()
        scheme, separator, rest = text.partition("://")
        if not separator or not scheme.isalpha():
            return text
        authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
        return authority.rpartition("@")[2]
