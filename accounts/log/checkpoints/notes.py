"""Signs notes with Ed25519, and checks the cosignatures of witnesses
(https://c2sp.org/signed-note, https://c2sp.org/tlog-cosignature)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

ED25519, COSIGNATURE = 0x01, 0x04  # the signature types of the specification
ID_BYTES, TIME_BYTES, KEY_BYTES = 4, 8, 32
# RFC 4648, section 4; a key name has no space and no plus.
VERIFIER_KEY = re.compile(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})")
SIGNATURE_LINE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")


class BadVerifierKey(ValueError):
    """This is no verifier key of the form name+hash+base64, with Ed25519."""


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """Names the public key of a log or a witness. `public` has 32 bytes."""

    name: str
    public: bytes

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Reads `name+hash+base64`. Accepts both signature types for a witness, because older tools
        write a witness's key with the type of a log. Raises BadVerifierKey."""
        found = VERIFIER_KEY.fullmatch(text)
        try:
            content = base64.b64decode(found[3], validate=True) if found else b""
        except ValueError:
            content = b""
        if not found or len(content) != 1 + KEY_BYTES:
            raise BadVerifierKey(BadVerifierKey.__doc__)
        key = cls(found[1], content[1:])
        if content[0] not in {ED25519, COSIGNATURE} or found[2] != key.id(content[0]).hex():
            raise BadVerifierKey(BadVerifierKey.__doc__)
        return key

    def id(self, signature_type: int) -> bytes:
        """Returns the key id for signatures of this type."""
        encoded = bytes([signature_type]) + self.public
        return hashlib.sha256(f"{self.name}\n".encode() + encoded).digest()[:ID_BYTES]

    def __str__(self) -> str:
        content = base64.b64encode(bytes([ED25519]) + self.public).decode()
        return f"{self.name}+{self.id(ED25519).hex()}+{content}"


def sign(text: str, *, name: str, key: Ed25519PrivateKey) -> str:
    """Returns the signed note. `text` ends with a line break."""
    verifier = VerifierKey(name, key.public_key().public_bytes_raw())
    signature = verifier.id(ED25519) + key.sign(text.encode())
    return f"{text}\n— {name} {base64.b64encode(signature).decode()}\n"


def text_of(note: str) -> str:
    """Returns the signed text of a note: everything before its last empty line."""
    return note[: note.rindex("\n\n") + 1]


def cosignatures(lines: str, *, text: str, key: VerifierKey) -> str:
    """Returns the lines that are cosignatures of `text` by this witness. Ignores all others."""
    return "".join(f"{line}\n" for line in _valid(lines, text, key))


def _valid(lines: str, text: str, key: VerifierKey) -> Iterator[str]:
    for line in lines.split("\n"):
        found = SIGNATURE_LINE.fullmatch(line)
        if found and found[1] == key.name and _is_cosignature(found[2], text, key):
            yield line


def _is_cosignature(encoded: str, text: str, key: VerifierKey) -> bool:
    try:
        content = base64.b64decode(encoded, validate=True)
    except ValueError:
        return False
    key_id, rest = content[:ID_BYTES], content[ID_BYTES:]
    if key_id != key.id(COSIGNATURE):
        return False
    signed_at = int.from_bytes(rest[:TIME_BYTES], "big")
    message = f"cosignature/v1\ntime {signed_at}\n{text}".encode()
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(rest[TIME_BYTES:], message)
    except InvalidSignature:
        return False
    return True
