"""Says whether a person must set a second factor up before they go on. It imports no models,
because Django loads the admin's site before them."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from pages.redirects import SeeOther

# In the session: whether the provider asked for a second factor at this sign-in, which counts.
PROVIDERS_FACTOR = "provider_asked_for_a_second_factor"

# The pages for a person who has to set up a second factor first, by the names of their addresses.
OPEN_WITHOUT_SECOND_FACTOR = {
    *("confirm-password", "confirm-with-provider", "settings-leave", "settings-security"),
    *("confirm-with-passkey", "confirm-with-passkey-options", "settings-second-factor"),
    *("settings-passkey-new", "settings-passkey-new-options"),
}


def is_owed(request: HttpRequest) -> bool:
    owes = getattr(request.user, "owes_second_factor", False)  # second_factor.with_owed
    return owes and not request.session.get(PROVIDERS_FACTOR)


def ask_to_set_up(request: HttpRequest) -> HttpResponse | None:
    """Sends a person who must set a second factor up to the page for it; returns None if they may
    open this address."""
    here = request.resolver_match.url_name if request.resolver_match else None
    if not is_owed(request) or here in OPEN_WITHOUT_SECOND_FACTOR:
        return None
    return SeeOther("settings-second-factor")
