"""Defines the form that sets which clients may connect to a team."""

from __future__ import annotations

from django import forms

from accounts.models import ClientPolicy
from accounts.oauth.pages.allowed_hosts import read_hosts
from pages.fields import ID_INPUT

MAX_LENGTH = 20_000


class PolicyForm(forms.Form):
    who = forms.ChoiceField(
        label="People who may connect clients", choices=ClientPolicy.Who, widget=forms.RadioSelect
    )
    hosts = forms.CharField(
        label="Allowed hosts",
        required=False,
        max_length=MAX_LENGTH,
        widget=forms.Textarea(attrs={**ID_INPUT, "rows": 4}),
        help_text="The hosts that clients send people back to, one on each line, such as "
        "chatgpt.com or claude.ai. Enter localhost to allow programs on people's own computers. "
        "Leave empty to allow any client.",
    )

    def clean_hosts(self) -> list[str]:
        return read_hosts(self.cleaned_data["hosts"])
