"""Makes the texts of keys and of links that are mailed, and recognises them.

A text has a prefix, 30 random base62 digits (178 bits), and six more digits with the CRC32 of the
random digits. The CRC32 reveals made-up texts and typing errors without a query. Only the SHA-256
is stored. A slow hash is not needed, because a random text cannot be guessed.

The prefix of a key ends with the letter of the cell that issued it, if the server has one:
`wk_live_` or `wk_live_b_` (docs/cells.md). A server accepts keys with any letter and without one,
because a team keeps its keys when it moves to another cell.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import zlib

from django.conf import settings

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def new_key(kind: str) -> str:
    """Returns a new key of this kind, such as `live`."""
    cell = f"{settings.WAKE_CELL}_" if settings.WAKE_CELL else ""
    return new_text(f"wk_{kind}_{cell}")


def form_of(*kinds: str) -> re.Pattern[str]:
    """Returns the form of keys of these kinds."""
    return re.compile(rf"wk_(?:{'|'.join(kinds)})_(?:[0-9a-z]_)?[0-9A-Za-z]{{36}}", re.ASCII)


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
