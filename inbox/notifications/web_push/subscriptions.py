"""Reads the subscription of a browser (Push API), and encrypts for it (RFC 8291)."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec

POINT_BYTES, AUTH_BYTES = 65, 16


class BadSubscription(Exception):
    """This is not the subscription of a browser."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Describes where a browser takes messages, and for which keys. A subscription is stored as
    JSON."""

    endpoint: str
    p256dh: str
    auth: str

    @classmethod
    def from_browser(cls, text: str) -> Subscription:
        """Reads the result of `PushSubscription.toJSON()`. Raises BadSubscription."""
        try:
            content = json.loads(text)
            keys = content["keys"]
            found = cls(str(content["endpoint"]), str(keys["p256dh"]), str(keys["auth"]))
            ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _bytes(found.p256dh))
            is_right = [len(_bytes(found.p256dh)), len(_bytes(found.auth))] == [
                POINT_BYTES,
                AUTH_BYTES,
            ]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise BadSubscription(BadSubscription.__doc__) from None
        if not is_right:
            raise BadSubscription(BadSubscription.__doc__)
        return found

    @classmethod
    def stored(cls, text: str) -> Subscription:
        return cls(**json.loads(text))

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    def encrypted(self, content: bytes) -> bytes:
        """Returns one record, which only this browser can read."""
        body: bytes = http_ece.encrypt(
            content,
            private_key=ec.generate_private_key(ec.SECP256R1()),
            dh=_bytes(self.p256dh),
            auth_secret=_bytes(self.auth),
            version="aes128gcm",
        )
        return body


def _bytes(text: str) -> bytes:
    """Decodes base64url without padding. Raises ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
