"""Says whether a person must set a second factor up before they go on. It imports no models,
because Django loads the admin's site before them."""

from __future__ import annotations

from django.http import HttpRequest

# In the session: whether the provider asked for a second factor at this sign-in, which counts.
PROVIDERS_FACTOR = "provider_asked_for_a_second_factor"


def is_owed(request: HttpRequest) -> bool:
    owes = getattr(request.user, "owes_second_factor", False)  # second_factor.with_owed
    return owes and not request.session.get(PROVIDERS_FACTOR)
