"""Decides whether a person must set up a second factor before they continue. This module imports no
models, because Django loads it with the admin's site, before the models."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from accounts.sign_in.browsers.session_names import PROVIDERS_FACTOR
from pages.redirects import SeeOther

# The names of the pages that a person may open before they have set up a required second factor.
OPEN_WITHOUT_SECOND_FACTOR = {
    *("confirm-password", "confirm-with-provider", "settings-leave", "settings-security"),
    *("confirm-with-passkey", "confirm-with-passkey-options", "settings-second-factor"),
    *("settings-passkey-new", "settings-passkey-new-options"),
}


def is_owed(request: HttpRequest) -> bool:
    owes = getattr(request.user, "owes_second_factor", False)  # set by second_factor.with_owed
    return owes and not request.session.get(PROVIDERS_FACTOR)


def ask_to_set_up(request: HttpRequest) -> HttpResponse | None:
    """Sends a person who must set up a second factor to the page where they can. Returns None if
    the person may open this address."""
    here = request.resolver_match.url_name if request.resolver_match else None
    if not is_owed(request) or here in OPEN_WITHOUT_SECOND_FACTOR:
        return None
    return SeeOther("settings-second-factor")
