"""Connects the company's sign-in provider, if `WAKE_OIDC_ISSUER` names one (docs/sign-in.md)."""

import os

from wake.server.settings import env

WAKE_OIDC_ISSUER = os.environ.get("WAKE_OIDC_ISSUER", "").strip()
WAKE_OIDC_CLIENT_ID = os.environ.get("WAKE_OIDC_CLIENT_ID", "").strip()
WAKE_OIDC_CLIENT_SECRET = env.secret_text("WAKE_OIDC_CLIENT_SECRET")
WAKE_OIDC_NAME = os.environ.get("WAKE_OIDC_NAME", "").strip() or "your company account"
WAKE_OIDC_SCOPES = os.environ.get("WAKE_OIDC_SCOPES", "").strip() or "openid email profile"
WAKE_OIDC_DOMAINS = [domain.lower() for domain in env.words("WAKE_OIDC_DOMAINS")]
WAKE_OIDC_GROUPS = env.group_roles("WAKE_OIDC_GROUPS")
WAKE_OIDC_GROUPS_CLAIM = os.environ.get("WAKE_OIDC_GROUPS_CLAIM", "").strip() or "groups"
WAKE_OIDC_SESSION_HOURS = env.number("WAKE_OIDC_SESSION_HOURS", default=12, low=1, high=720)
# Whether the provider asks everyone for a second factor, and whether it can ask again.
WAKE_OIDC_SECOND_FACTOR = env.flag("WAKE_OIDC_SECOND_FACTOR") is True
WAKE_OIDC_ASKS_AGAIN = env.flag("WAKE_OIDC_ASKS_AGAIN") is not False
# The tokens of the company's directory, which sends people and groups by SCIM, and the claim of the
# ID token with the id that SCIM calls `externalId`.
WAKE_SCIM_TOKENS = env.secret_list(env.secret_text("WAKE_SCIM_TOKEN"))
WAKE_SCIM_ID_CLAIM = os.environ.get("WAKE_SCIM_ID_CLAIM", "").strip() or "sub"
WAKE_PASSWORDS = env.flag("WAKE_PASSWORDS") is not False
