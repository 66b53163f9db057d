"""Implements a witness of the log from the specifications alone."""

from __future__ import annotations

import base64
import hashlib
import struct
from http.server import BaseHTTPRequestHandler

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from tests.wake.callbacks.receiver import answering


def cosign(text: str, *, name: str, key: Ed25519PrivateKey, at: int) -> str:
    """Returns the line of a `cosignature/v1`."""
    public = key.public_key().public_bytes_raw()
    key_id = hashlib.sha256(name.encode() + b"\n\x04" + public).digest()[:4]
    signature = key.sign(f"cosignature/v1\ntime {at}\n{text}".encode())
    content = key_id + struct.pack(">Q", at) + signature
    return f"— {name} {base64.b64encode(content).decode()}\n"


def verifier_key(name: str, key: Ed25519PrivateKey, *, signature_type: int = 4) -> str:
    """Returns `name+hash+base64`."""
    encoded = bytes([signature_type]) + key.public_key().public_bytes_raw()
    digest = hashlib.sha256(name.encode() + b"\n" + encoded).digest()[:4]
    return f"{name}+{digest.hex()}+{base64.b64encode(encoded).decode()}"


class Witness:
    """Answers `add-checkpoint` as c2sp.org/tlog-witness says, for one log."""

    def __init__(self, *, name: str = "witness.example/w1", log_key: str) -> None:
        self.name, self.key = name, Ed25519PrivateKey.generate()
        self.signs_with = self.key
        self.origin, _, encoded = log_key.split("+", 2)
        self.log = Ed25519PublicKey.from_public_bytes(base64.b64decode(encoded)[1:])
        self.size, self.root = 0, b""

    @property
    def verifier_key(self) -> str:
        return verifier_key(self.name, self.key)

    def __call__(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        status, text = self.answer(body.decode())
        kind = {"Content_Type": "text/x.tlog.size"} if status == 409 else {}
        answering(status, text.encode(), **kind)(request)

    def answer(self, body: str) -> tuple[int, str]:
        head, _, note = body.partition("\n\n")
        first, *lines = head.split("\n")
        text, _, signature = note.rpartition("\n\n")
        text += "\n"
        origin, number, root64 = text.split("\n")[:3]
        old, size, root = int(first.removeprefix("old ")), int(number), base64.b64decode(root64)
        if origin != self.origin:
            return 404, ""
        try:
            self.log.verify(base64.b64decode(signature.split(" ")[2])[4:], text.encode())
        except InvalidSignature:
            return 403, ""
        if old > size:
            return 400, ""
        if old != self.size:
            return 409, f"{self.size}\n"
        proof = [base64.b64decode(line) for line in lines]
        if old == size and root != self.root:
            return 409, ""
        if not is_consistent(old, size, self.root, root, proof):
            return 422, ""
        self.size, self.root = size, root
        return 200, cosign(text, name=self.name, key=self.signs_with, at=1_790_000_000)


def is_consistent(old: int, size: int, old_root: bytes, root: bytes, proof: list[bytes]) -> bool:
    """Verifies a consistency proof by the steps of RFC 9162, 2.1.4.2."""
    if old in (0, size):
        return not proof
    proof = proof if old & (old - 1) else [old_root, *proof]
    fn, sn = old - 1, size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    if not proof:
        return False
    fr = sr = proof[0]
    for c in proof[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node(c, fr), node(c, sr)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, c)
        fn, sn = fn >> 1, sn >> 1
    return (fr, sr, sn) == (old_root, root, 0)


def node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()
