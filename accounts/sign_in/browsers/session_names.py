"""Names the values in a session that describe a sign-in. This module imports no models, because
Django loads it with the admin's site, before the models."""

from __future__ import annotations

SIGNED_IN, SEEN, PASSWORD = "signed_in_at", "seen_at", "password_at"
BROWSER = "browser"
# The methods by which the person proved who they are (accounts/sign_in/browsers/sessions.py).
METHODS = "amr"
# When the provider signed the person in. Only a session that began with a provider has this value
# (accounts/sign_in/oidc/).
PROVIDER = "provider_at"
# Whether the provider asked for a second factor at this sign-in. In that case Wake does not ask for
# a second factor.
PROVIDERS_FACTOR = "provider_asked_for_a_second_factor"
