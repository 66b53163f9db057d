"""Fetches the metadata documents of clients (draft-ietf-oauth-client-id-metadata-document), over
the one way out of the server."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from oauth2_provider.cimd import CIMDError

from accounts.oauth.registration.metadata import as_public_client, is_storable
from database.turns import released
from wake.callbacks.http_client import HttpClient, HttpResult

SECONDS = 5.0
MAX_BYTES = 16_384
HEADERS = {"Accept": "application/json"}
SHORTEST_STAY, LONGEST_STAY = 300, 3600  # seconds
MAX_AGE = re.compile(r"max-age\s*=\s*(\d{1,9})", re.IGNORECASE | re.ASCII)


class MetadataFetcher:
    """Is the setting CIMD_METADATA_FETCHER of django-oauth-toolkit. Addresses of private networks
    are refused, and redirects are not followed."""

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        """Returns the document, reduced to what this server offers, and the seconds for which it
        holds. Raises CIMDError."""
        _check(client_id)
        with released():
            result = asyncio.run(self._get(client_id))
        document, stay = _document(result)
        return as_public_client(document), stay

    async def _get(self, url: str) -> HttpResult:
        client = self.http_client()
        try:
            return await client.get(url, headers=HEADERS)
        finally:
            await client.close()

    def http_client(self) -> HttpClient:
        """Returns a new client. Tests let it find a server of their own."""
        return HttpClient(deadline=SECONDS)


def _check(client_id: str) -> None:
    """Raises CIMDError for an id that the draft does not allow (section 3). The client of HTTP
    requests checks the host."""
    try:
        parts = urlsplit(client_id)
    except ValueError:
        raise CIMDError("the client_id is no address") from None
    if parts.scheme != "https" or parts.path in {"", "/"} or "#" in client_id:
        raise CIMDError("the client_id needs https, a path and no fragment")
    if not client_id.isascii():
        raise CIMDError("the client_id has characters outside ASCII, which can imitate others")
    if "@" in parts.netloc or {".", ".."} & set(parts.path.split("/")):
        raise CIMDError("the client_id may have neither a name nor dot segments")
    if settings.WAKE_ORIGIN.lower() == f"{parts.scheme}://{parts.netloc}".lower():
        raise CIMDError("this server has no clients of its own")


def _document(result: HttpResult) -> tuple[dict[str, Any], int]:
    if result.status_code != 200:
        raise CIMDError(f"no document: {result.error or result.status_code}")
    is_json = result.content_type == "application/json" or result.content_type.endswith("+json")
    if not is_json or len(result.content) > MAX_BYTES:
        raise CIMDError("the document is not JSON, or is longer than 16 kB")
    try:
        document = json.loads(result.content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise CIMDError("the document is no JSON object")
    if not is_storable(document):
        raise CIMDError("the document has U+0000, or half a character")
    return document, _stay(result.cache_control)


def _stay(cache_control: str) -> int:
    """Returns for how many seconds the document holds, within the limits of this server."""
    if "no-store" in cache_control.lower() or "no-cache" in cache_control.lower():
        return SHORTEST_STAY
    named = MAX_AGE.search(cache_control)
    return min(max(int(named[1]), SHORTEST_STAY), LONGEST_STAY) if named else LONGEST_STAY
