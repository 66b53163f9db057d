"""Configures the authorization server, at which clients sign in instead of copying a key
(docs/connect.md).

The issuer has a path, so that no document of the origin itself says that `/mcp` takes OAuth: some
clients then ignore a configured key.
"""

from typing import Any

from wake.server.settings.hosting import WAKE_ORIGIN

WAKE_OAUTH_ISSUER = f"{WAKE_ORIGIN}/oauth"
WAKE_OAUTH_RESOURCE = f"{WAKE_ORIGIN}/mcp/people"

# Django needs these names for the foreign keys of accounts/models/oauth.py.
OAUTH2_PROVIDER_APPLICATION_MODEL = "oauth2_provider.Application"
OAUTH2_PROVIDER_DEVICE_GRANT_MODEL = "oauth2_provider.DeviceGrant"

OAUTH2_PROVIDER: dict[str, Any] = {
    "SCOPES": {
        "deliver": "Deliver work to the team, and read the answers",
        "offline_access": "Stay connected",
    },
    "DEFAULT_SCOPES": ["deliver", "offline_access"],
    "OIDC_ISS_ENDPOINT": WAKE_OAUTH_ISSUER,
    "OAUTH2_VALIDATOR_CLASS": "accounts.oauth.validator.Validator",
    "ACCESS_TOKEN_GENERATOR": "accounts.oauth.tokens.new_access_token",
    "REFRESH_TOKEN_GENERATOR": "accounts.oauth.tokens.new_refresh_token",
    "ACCESS_TOKEN_EXPIRE_SECONDS": 15 * 60,
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "REFRESH_TOKEN_EXPIRE_SECONDS": 90 * 24 * 3600,  # since the last refresh
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https", "http", "cursor", "vscode", "vscode-insiders"],
    "ALLOW_LOCALHOST_LOOPBACK": True,  # some clients register localhost, and listen on any port
    "OAUTH2_RESPONSE_TYPES_SUPPORTED": ["code"],
    "OAUTH2_GRANT_TYPES_SUPPORTED": ["authorization_code", "refresh_token"],
    "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": [
        *("none", "client_secret_post", "client_secret_basic"),
    ],
    "DCR_ENABLED": True,
    "DCR_REGISTRATION_PERMISSION_CLASSES": ["oauth2_provider.dcr.AllowAllDCRPermission"],
    "CIMD_ENABLED": True,
    "CIMD_METADATA_FETCHER": "wake.server.client_metadata.MetadataFetcher",
    "CIMD_REGISTRATION_PERMISSION_CLASSES": ["accounts.oauth.policies.OnlyAtConsent"],
    "CIMD_METADATA_MAX_AGE_SECONDS": 3600,
    **{
        f"COMPLIANT_BCP_RFC9700_{rule}": True
        for rule in (
            *("IMPLICIT_GRANT", "PASSWORD_GRANT", "PKCE_METHOD", "PKCE_REQUIRED"),
            *("ACCESS_TOKEN_TRANSPORT", "AUTHZ_RESPONSE_ISS", "TOKEN_STORAGE", "REFRESH_TOKEN"),
            "REDIRECT_URI_MATCHING",
        )
    },
}
