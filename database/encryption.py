"""Encrypts signing secrets, and content while WAKE_ENCRYPT_CONTENT is on.

The newest of WAKE_ENCRYPTION_KEYS encrypts, and each of them decrypts. To rotate a key, put the new
key first (docs/decisions/0010-content-is-encrypted-by-the-column.md).
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache, lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unreadable(Exception):
    """This can no longer be read: the encryption key that it was stored with is gone."""


def encrypt(plain: bytes) -> bytes:
    """Returns a token of ASCII letters, digits, `-`, `_` and `=`."""
    return _ring(tuple(settings.WAKE_ENCRYPTION_KEYS)).encrypt(plain)


def decrypt(token: bytes) -> bytes:
    """Decrypts with the key that was used. Raises Unreadable if that key is missing."""
    try:
        return _ring(tuple(settings.WAKE_ENCRYPTION_KEYS)).decrypt(token)
    except InvalidToken as error:
        raise Unreadable(Unreadable.__doc__) from error


def is_of_newest_key(token: bytes) -> bool:
    try:
        _fernet(settings.WAKE_ENCRYPTION_KEYS[0]).decrypt(token)
    except InvalidToken:
        return False
    return True


@lru_cache(maxsize=4)
def _ring(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([_fernet(key) for key in keys])


@cache
def _fernet(key: str) -> Fernet:
    """Accepts any text as a key: it is hashed to the 32 bytes that Fernet needs."""
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()))
