"""Publishes the public keys with which anyone verifies a receipt (docs/receipts.md, Keys)."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from wake import wire
from wake.proof import receipt_keys

KEPT_FOR = 600  # seconds; after this time every client knows that a key was cut


@require_safe
def key_set(request: HttpRequest) -> HttpResponse:
    """Answers with a JWK Set (RFC 7517), which web pages of other origins may read, too."""
    keys = receipt_keys.key_set()
    response = HttpResponse(wire.encode(keys), content_type="application/jwk-set+json")
    # An empty list is not stored, because the first receipt makes the first key, which clients need
    # at once.
    is_kept = bool(keys["keys"])
    response["Cache-Control"] = f"public, max-age={KEPT_FOR}" if is_kept else "no-store"
    response["Access-Control-Allow-Origin"] = "*"
    return response
