"""Imitates a browser and its push service. The push service verifies the VAPID token. The browser
decrypts with its keys by RFC 8291, with the cryptography library alone."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from tests.wake.callbacks.receiver import Received

MAX_BYTES = 4_096


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass
class Browser:
    """Subscribes with keys of its own, and decrypts the messages that it gets."""

    endpoint: str
    key: ec.EllipticCurvePrivateKey = field(default_factory=new_key)
    auth: bytes = b"sixteen bytes..."

    @property
    def subscription(self) -> str:
        """Returns what `PushSubscription.toJSON()` does."""
        keys = {"p256dh": text_of(public_bytes(self.key)), "auth": text_of(self.auth)}
        return json.dumps({"endpoint": self.endpoint, "expirationTime": None, "keys": keys})

    def read(self, request: Received) -> Any:
        """Returns the content. Raises InvalidTag if the message is for another browser."""
        assert request.headers["Content-Encoding"] == "aes128gcm"
        assert len(request.body) <= MAX_BYTES
        salt, record_size, length = (
            request.body[:16],
            int.from_bytes(request.body[16:20]),
            request.body[20],
        )
        sender, sealed = request.body[21 : 21 + length], request.body[21 + length :]
        assert len(sealed) <= record_size
        curve = ec.SECP256R1()
        shared = self.key.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(curve, sender)
        )
        info = b"WebPush: info\0" + public_bytes(self.key) + sender
        secret = expand(extract(self.auth, shared), info, 32)
        start = extract(salt, secret)
        content_key = expand(start, b"Content-Encoding: aes128gcm\0", 16)
        nonce = expand(start, b"Content-Encoding: nonce\0", 12)
        content = AESGCM(content_key).decrypt(nonce, sealed, None).rstrip(b"\0")
        assert content[-1:] == b"\x02"  # the last record
        return json.loads(content[:-1])


def verify_vapid(request: Received, *, origin: str, at: datetime) -> dict[str, Any]:
    """Returns the claims. Raises InvalidSignature."""
    scheme, _, rest = request.headers["Authorization"].partition(" ")
    assert scheme == "vapid"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    head, claims, signature = parts["t"].split(".")
    r_and_s = bytes_of(signature)
    assert len(r_and_s) == 64
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), bytes_of(parts["k"]))
    der = encode_dss_signature(int.from_bytes(r_and_s[:32]), int.from_bytes(r_and_s[32:]))
    key.verify(der, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    assert json.loads(bytes_of(head)) == {"typ": "JWT", "alg": "ES256"}
    found: dict[str, Any] = json.loads(bytes_of(claims))
    assert found["aud"] == origin
    assert 0 < found["exp"] - at.timestamp() <= 86_400
    assert found["sub"].startswith(("mailto:", "https://"))
    return {**found, "k": parts["k"]}


def public_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )


def extract(salt: bytes, content: bytes) -> bytes:
    mac = hmac.HMAC(salt, hashes.SHA256())
    mac.update(content)
    return mac.finalize()


def expand(key: bytes, info: bytes, length: int) -> bytes:
    return HKDFExpand(hashes.SHA256(), length, info).derive(key)


def text_of(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def bytes_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
