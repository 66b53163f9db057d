"""Reduces the metadata of clients to what this server offers, because django-oauth-toolkit refuses
a client that names more. RFC 7591 (section 2) lets a server ignore what it does not offer."""

from __future__ import annotations

import json
from typing import Any

from oauth2_provider.cimd import is_cimd_client_id
from oauth2_provider.models import Application

OFFERED_GRANTS = ("authorization_code", "refresh_token")
PUBLIC = "none"


def with_offered_grants(metadata: dict[str, Any]) -> dict[str, Any]:
    """Returns the metadata without the grant types of other servers. VS Code also names the device
    flow, and Claude names a grant for companies."""
    grants = metadata.get("grant_types")
    if not isinstance(grants, list):
        return metadata
    return {**metadata, "grant_types": [each for each in grants if each in OFFERED_GRANTS]}


def as_public_client(document: dict[str, Any]) -> dict[str, Any]:
    """Returns a metadata document with offered grants. A client that can do without authentication
    becomes one that does, even if it prefers `private_key_jwt` as ChatGPT does (OpenID Connect
    Relying Party Metadata Choices 1.0)."""
    reduced = with_offered_grants(document)
    methods = document.get("token_endpoint_auth_methods_supported")
    if isinstance(methods, list) and PUBLIC in methods:
        return {**reduced, "token_endpoint_auth_method": PUBLIC}
    return reduced


def asks_for_codes(metadata: dict[str, Any]) -> bool:
    """Returns whether the client asks for codes, which is the default."""
    grants = metadata.get("grant_types", ["authorization_code"])
    return isinstance(grants, list) and "authorization_code" in grants


def is_new_document(client_id: str) -> bool:
    """Returns whether the id is the address of a metadata document that no one has named before."""
    if not is_cimd_client_id(client_id) or not is_storable(client_id):
        return False
    return not Application.objects.filter(client_id=client_id).exists()


def is_storable(value: Any) -> bool:
    """Returns whether databases can store each text in this value of JSON. They refuse U+0000 and
    half of a surrogate pair, which JSON can name."""
    try:
        return b"\\u0000" not in json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
