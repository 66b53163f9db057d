"""Makes the texts of keys and of links that are mailed, and recognises them.

A text has a prefix, 30 random base62 digits (178 bits), and six more digits with the CRC32 of the
random digits. The CRC32 reveals made-up texts and typing errors without a query. Only the SHA-256
is stored. A slow hash is not needed, because a random text cannot be guessed.
"""

from __future__ import annotations

import hashlib
import secrets
import string
import zlib

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def new_text(prefix: str) -> str:
    """Returns the prefix with new random digits and their checksum."""
    body = prefix + "".join(secrets.choice(BASE62) for _ in range(30))
    return body + _checksum(body)


def is_whole(text: str) -> bool:
    return secrets.compare_digest(_checksum(text[:-6]), text[-6:])


def hint_of(text: str) -> str:
    """Returns the part of a key that identifies the key on pages. This part does not reveal the
    rest."""
    return f"{text[:12]}…{text[-4:]}"


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(body: str) -> str:
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits
