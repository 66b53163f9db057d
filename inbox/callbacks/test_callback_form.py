"""Checks the URL to which an owner sends a test callback."""

from __future__ import annotations

from django import forms

from pages.fields import ID_INPUT


class TestCallbackForm(forms.Form):
    url = forms.CharField(
        label="URL",
        max_length=2048,
        widget=forms.URLInput(attrs={**ID_INPUT, "placeholder": "https://hooks.example.com/wake"}),
        help_text="The URL that the agent sends as callback_webhook.",
        error_messages={"required": "Enter a URL."},
    )
