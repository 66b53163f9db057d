"""Identifies this server to push services (VAPID, RFC 8292). The server's key pair is made once."""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from email.utils import parseaddr
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings
from joserfc import jwt
from joserfc.jwk import ECKey

from database.clock import database_now
from inbox.models import PushKey

# RFC 8292, section 2, allows at most a day; clocks differ.
TOKEN_LASTS = timedelta(hours=12)


def authorization(endpoint: str, *, at: datetime) -> str:
    """Returns the header for a push to this address. Raises encryption.Unreadable."""
    pem = _private_pem()
    url = urlsplit(endpoint)
    claims = {
        "aud": f"{url.scheme}://{url.netloc}",
        "exp": int((at + TOKEN_LASTS).timestamp()),
        "sub": _contact(),
    }
    token = jwt.encode({"typ": "JWT", "alg": "ES256"}, claims, ECKey.import_key(pem))
    return f"vapid t={token}, k={_public_of(pem)}"


def public_key() -> str:
    """Returns the key for a browser's subscription. Raises encryption.Unreadable."""
    return _public_of(_private_pem())


def encoded(content: bytes) -> str:
    """Returns base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _private_pem() -> str:
    found = PushKey.objects.filter(pk=PushKey.ONLY).first()
    if found is None:
        made = {"private_key": _new_pem(), "created_at": database_now()}
        found, _ = PushKey.objects.get_or_create(pk=PushKey.ONLY, defaults=made)
    return found.private_key


def _new_pem() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _public_of(pem: str) -> str:
    key = serialization.load_pem_private_key(pem.encode(), password=None)
    return encoded(
        key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
    )


def _contact() -> str:
    """Returns the contact for push services: a page on https, or the address that mail comes
    from."""
    if settings.WAKE_ORIGIN.startswith("https://"):
        return str(settings.WAKE_ORIGIN)
    return f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"
