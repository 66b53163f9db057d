"""Makes receipts that look like SD-JWTs. The kit checks their form, and no signature."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from tests.check.store import Stored

KEYS = {"keys": [{"kid": "made-up", "kty": "OKP"}]}


def receipt(stored: Stored) -> str:
    disclosure = _encoded(["salt", "feedback_sha256", None])
    hashed = base64.urlsafe_b64encode(hashlib.sha256(disclosure.encode()).digest())
    claims = {
        "delivery_id": stored.id,
        "status": stored.status,
        "_sd": [hashed.rstrip(b"=").decode()],
    }
    header = {"alg": "Ed25519", "kid": "made-up"}
    return f"{_encoded(header)}.{_encoded(claims)}.c2lnbmF0dXJl~{disclosure}~"


def _encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
