"""Puts the button that signs in with a passkey on pages outside the settings."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings
from django.template import Context
from django.urls import reverse

from accounts.models import Passkey
from accounts.sign_in.passkeys.relying_parties import relying_party, where_they_work

register = template.Library()


@register.inclusion_tag("accounts/sign_in/passkeys/_button.html", takes_context=True)
def passkey_button(context: Context, name: str, label: str, **parts: Any) -> dict[str, Any]:
    """Renders the form that posts to the URL with this `name`. The options of the passkey have a
    separate URL."""
    host = context["request"].get_host()
    return {
        "csrf_token": context.get("csrf_token"),
        "action": reverse(name),
        "options": reverse(f"{name}-options"),
        "label": label,
        "works_here": relying_party(host) is not None,
        "works_at": where_they_work(host),
        **parts,
    }


@register.simple_tag
def offers_passkeys() -> bool:
    """Returns whether the sign-in page offers passkeys. The page offers them once any person has a
    passkey, unless people sign in only with a provider."""
    return bool(settings.WAKE_PASSWORDS) and Passkey.objects.exists()
