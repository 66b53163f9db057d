"""Implements the log of a server, and writes proofs, from the specifications alone."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.accounts.log.checkpoints.witness import cosign, verifier_key
from tests.accounts.log.rfc9162 import mth, path


def base64_of(content: bytes) -> str:
    return base64.b64encode(content).decode()


class Log:
    """Holds entries in memory. `origin` is its name."""

    def __init__(self, origin: str = "wake.example.com/log", entries: int = 11) -> None:
        self.origin, self.key = origin, Ed25519PrivateKey.generate()
        self.entries = [f"entry {number}".encode() for number in range(entries)]
        self.witnesses: dict[str, Ed25519PrivateKey] = {}

    @property
    def verifier_key(self) -> str:
        return verifier_key(self.origin, self.key, signature_type=1)

    def add(self, receipt: str, **facts: Any) -> tuple[int, dict[str, Any]]:
        """Appends the entry of a receipt, and returns its index and its facts."""
        entry = {"kind": "receipt", "number": 5, "salt": "c2FsdA", "team": 1, **facts}
        sha256 = hashlib.sha256(receipt.partition("~")[0].encode()).hexdigest()
        self.entries.append(rfc8785.dumps({**entry, "sha256": sha256}))
        return len(self.entries) - 1, entry

    def checkpoint(self, *, signed_by: Ed25519PrivateKey | None = None) -> str:
        root = base64_of(mth(self.entries))
        text = f"{self.origin}\n{len(self.entries)}\n{root}\n"
        key_id = base64.b64decode(self.verifier_key.split("+", 2)[2])
        named = hashlib.sha256(f"{self.origin}\n".encode() + key_id).digest()[:4]
        signature = named + (signed_by or self.key).sign(text.encode())
        lines = [f"— {self.origin} {base64_of(signature)}\n"]
        for name, key in self.witnesses.items():
            lines.append(cosign(text, name=name, key=key, at=1_790_000_000))
        return f"{text}\n{''.join(lines)}"

    def witness(self, name: str = "witness.example/w1") -> str:
        """Lets a new witness cosign, and returns its verifier key."""
        self.witnesses[name] = Ed25519PrivateKey.generate()
        return verifier_key(name, self.witnesses[name])

    def proof(self, receipt: str, index: int, entry: dict[str, Any], /, **replaced: str) -> str:
        """Returns the file. `replaced` has other texts for parts of the file."""
        extra = json.dumps({"receipt": receipt, "entry": entry}).encode()
        hashes = "".join(f"{base64_of(each)}\n" for each in path(index, self.entries))
        parts = {
            "first": "c2sp.org/tlog-proof@v1\n",
            "extra": f"extra {base64_of(extra)}\n",
            "index": f"index {index}\n",
            "hashes": hashes,
            "checkpoint": f"\n{self.checkpoint()}",
            **replaced,
        }
        return "".join(parts.values())
