"""Verifies offline that a receipt is in the log of its server (https://c2sp.org/tlog-proof), and
that witnesses have seen that log (https://c2sp.org/tlog-cosignature). Needs the package
`cryptography`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wake_client.digest import compact_json

FIRST_LINE = "c2sp.org/tlog-proof@v1"
# A proof has a few kilobytes more than its receipt. The limits keep a hostile file from costing
# time.
MAX_BYTES = 512 * 1024
MAX_HASHES = 63
MAX_SIGNATURES = 100
ED25519, COSIGNATURE = 0x01, 0x04  # the signature types of c2sp.org/signed-note
NUMBER = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
SIGNATURE_LINE = re.compile(r"— ([^\s+]+) (\S+)")


class NotLogged(Exception):
    """The receipt is not in the log. The message says why."""


class NotWitnessed(Exception):
    """A witness has not seen the log of this proof. The message says which witness."""


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """Names the public key of a log or a witness."""

    name: str
    public: bytes

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Reads `name+hash+base64`. Raises ValueError."""
        name, _, rest = text.strip().partition("+")
        key_id, _, encoded = rest.partition("+")
        content = _base64(encoded) or b""
        key = cls(name, content[1:])
        is_known = content[:1] in (bytes([ED25519]), bytes([COSIGNATURE]))
        if not (name and is_known and len(content) == 33 and key.id(content[0]).hex() == key_id):
            raise ValueError(f"{text} is no verifier key: name+hash+base64, with Ed25519.")
        return key

    def id(self, signature_type: int) -> bytes:
        named = f"{self.name}\n".encode() + bytes([signature_type]) + self.public
        return hashlib.sha256(named).digest()[:4]


@dataclass(frozen=True, slots=True)
class LogProof:
    """Holds one file. `entry` has the facts of the log's entry that are not in the receipt. `text`
    is the signed text of the checkpoint, and `signatures` has the lines below it."""

    receipt: str
    entry: dict[str, Any]
    index: int
    hashes: list[bytes]
    text: str
    size: int
    root: bytes
    signatures: list[str]

    @property
    def origin(self) -> str:
        return self.text.partition("\n")[0]


def is_proof(text: str) -> bool:
    return text.partition("\n")[0].rstrip("\r") == FIRST_LINE


def read(text: str) -> LogProof:
    """Reads a file that has a receipt and its proof. Raises NotLogged if the file is damaged."""
    if len(text) > MAX_BYTES:
        raise NotLogged("The file is too large for a proof.")
    head, _, note = text.partition("\n\n")
    body, _, signatures = note.rpartition("\n\n")
    try:
        _, extra, index, *hashes = head.split("\n")
        origin, size, root, *_ = body.split("\n")
        facts = json.loads(_base64(extra.removeprefix("extra ")) or b"")
        proof = LogProof(
            receipt=facts["receipt"],
            entry=facts["entry"],
            index=_number(index.removeprefix("index ")),
            hashes=[_hash(line) for line in hashes],
            text=f"{body}\n",
            size=_number(size),
            root=_hash(root),
            signatures=signatures.split("\n"),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotLogged("The proof is damaged.") from error
    is_whole = bool(origin) and type(facts["receipt"]) is str and type(facts["entry"]) is dict
    if not is_whole or len(hashes) > MAX_HASHES or len(proof.signatures) > MAX_SIGNATURES:
        raise NotLogged("The proof is damaged.")
    return proof


def check_logged(proof: LogProof, log_keys: Sequence[VerifierKey]) -> None:
    """Checks that one of the keys signed the checkpoint, and that the tree of the checkpoint has
    the receipt at the index. Raises NotLogged, or ValueError without the package
    `cryptography`."""
    keys = [key for key in log_keys if key.name == proof.origin]
    if not keys:
        raise NotLogged(f"The checkpoint is of the log {proof.origin}, whose key is not given.")
    if not any(_is_signed(proof, key) for key in keys):
        raise NotLogged("The checkpoint is not signed by a key of the log.")
    leaf = hashlib.sha256(b"\x00" + _entry_bytes(proof)).digest()
    if not is_included(leaf, proof):
        raise NotLogged("The proof does not lead from the receipt to the checkpoint.")


def check_witnessed(proof: LogProof, witness_keys: Sequence[VerifierKey]) -> None:
    """Checks that each of the witnesses cosigned the checkpoint. Raises NotWitnessed, or ValueError
    without the package `cryptography`."""
    for key in witness_keys:
        if not _is_cosigned(proof, key):
            raise NotWitnessed(f"The witness {key.name} has not cosigned the checkpoint.")


def is_included(leaf: bytes, proof: LogProof) -> bool:
    """Follows an inclusion proof as RFC 9162, 2.1.3.2, says."""
    if proof.index >= proof.size:
        return False
    place, last, reached = proof.index, proof.size - 1, leaf
    for sibling in proof.hashes:
        if last == 0:
            return False
        if place & 1 or place == last:
            reached = _node(sibling, reached)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            reached = _node(reached, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and reached == proof.root


def _entry_bytes(proof: LogProof) -> bytes:
    """Returns the bytes that the log hashed: the canonical JSON of the entry's facts, with the
    SHA-256 of the signed JWT, which has no disclosures (the server's docs/log.md)."""
    jwt = proof.receipt.strip().partition("~")[0]
    match proof.entry:
        case {"kind": "receipt", "number": int(number), "salt": str(salt), "team": int(team)}:
            facts = {
                "kind": "receipt",
                "number": number,
                "salt": salt,
                "sha256": hashlib.sha256(jwt.encode()).hexdigest(),
                "team": team,
            }
            return compact_json(facts).encode()
    raise NotLogged("The proof is damaged.")


def _is_signed(proof: LogProof, key: VerifierKey) -> bool:
    message = proof.text.encode()
    return any(_verifies(key, found, message) for found in _signatures_of(proof, key, ED25519))


def _is_cosigned(proof: LogProof, key: VerifierKey) -> bool:
    for found in _signatures_of(proof, key, COSIGNATURE):
        signed_at, signature = int.from_bytes(found[:8], "big"), found[8:]
        message = f"cosignature/v1\ntime {signed_at}\n{proof.text}".encode()
        if _verifies(key, signature, message):
            return True
    return False


def _signatures_of(proof: LogProof, key: VerifierKey, signature_type: int) -> Iterator[bytes]:
    """Yields the signatures with the name and the id of a key. Those of other keys are ignored."""
    for line in proof.signatures:
        found = SIGNATURE_LINE.fullmatch(line)
        content = _base64(found[2]) if found and found[1] == key.name else None
        if content and content[:4] == key.id(signature_type):
            yield content[4:]


def _verifies(key: VerifierKey, signature: bytes, message: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (
            Ed25519PublicKey,
        )
    except ImportError as error:
        raise ValueError("This needs cryptography: pip install 'wake-client[verify]'.") from error
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _number(text: str) -> int:
    if not NUMBER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _hash(text: str) -> bytes:
    content = _base64(text)
    if content is None or len(content) != 32:
        raise ValueError(text)
    return content


def _base64(text: str) -> bytes | None:
    """Reads base64 with padding (RFC 4648, section 4), or returns None."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None
