"""Writes and reads files that only the holder of the key of a move can read.

A file is a sequence of frames, each encrypted and authenticated by AES-256-GCM. Each file has a key
of its own, derived from the key of the move, a random salt and the name of the file (HKDF, RFC
5869), so the counter of the frames is never used twice with a key. The last frame is empty. So a
frame that is missing, repeated or in another place is noticed, and so is a file that was cut off.
"""

from __future__ import annotations

import base64
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
LENGTH = struct.Struct(">I")
NONCE = struct.Struct(">IQ")
# A frame holds a few rows. The longest row has a file of 64 MB.
MAX_FRAME_BYTES = 1_000_000_000
SALT_BYTES = 16
_encoder = msgspec.msgpack.Encoder(order="sorted")


class NotReadable(Exception):
    """A file of the folder is missing, damaged, or was written with another key."""


def new_key(path: Path) -> bytes:
    """Writes a new key into a new file that only its owner can read. Raises OSError."""
    key = os.urandom(KEY_BYTES)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(base64.urlsafe_b64encode(key).decode() + "\n")
    return key


def read_key(path: Path) -> bytes:
    """Raises NotReadable."""
    try:
        key = base64.urlsafe_b64decode(path.read_text().strip())
    except (OSError, ValueError) as error:
        raise NotReadable(f"{path} is not the key of a move.") from error
    if len(key) != KEY_BYTES:
        raise NotReadable(f"{path} is not the key of a move.")
    return key


def write(path: Path, values: Iterable[Any], *, key: bytes) -> None:
    """Writes each value as a frame into a new file, and then the file to the disk. Raises
    OSError."""
    salt = os.urandom(SALT_BYTES)
    cipher = _cipher(key, salt, path.name)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(salt)
        number = 0
        for number, value in enumerate(values, 1):
            plain = zlib.compress(_encoder.encode(value), 1)
            _write_frame(file, cipher, number, plain)
        _write_frame(file, cipher, number + 1, b"")
        file.flush()
        os.fsync(file.fileno())


def replace(path: Path, value: Any, *, key: bytes) -> None:
    """Writes a file with one value, also if an earlier run has written the file. Raises OSError."""
    path.unlink(missing_ok=True)
    write(path, [value], key=key)


def read(path: Path, *, key: bytes) -> Iterator[Any]:
    """Yields the values of a file. Raises NotReadable, at the latest when the file ends."""
    try:
        with path.open("rb") as file:
            cipher = _cipher(key, file.read(SALT_BYTES), path.name)
            number = 0
            while plain := _read_frame(file, cipher, number := number + 1):
                yield msgspec.msgpack.decode(zlib.decompress(plain))
            if file.read(1):
                raise NotReadable(f"{path} goes on after its end.")
    except (OSError, InvalidTag, struct.error, zlib.error, msgspec.DecodeError) as error:
        raise NotReadable(f"{path}: {NotReadable.__doc__}") from error


def encoded(value: Any) -> bytes:
    """Returns the bytes that stand for a value. They are the same on both servers."""
    return _encoder.encode(value)


def _write_frame(file: Any, cipher: AESGCM, number: int, plain: bytes) -> None:
    frame = cipher.encrypt(NONCE.pack(0, number), plain, None)
    file.write(LENGTH.pack(len(frame)))
    file.write(frame)


def _read_frame(file: Any, cipher: AESGCM, number: int) -> bytes:
    (length,) = LENGTH.unpack(file.read(LENGTH.size))
    if length > MAX_FRAME_BYTES:
        raise InvalidTag
    return cipher.decrypt(NONCE.pack(0, number), file.read(length), None)


def _cipher(key: bytes, salt: bytes, name: str) -> AESGCM:
    derived = HKDF(SHA256(), KEY_BYTES, salt=salt, info=f"wake move {name}".encode())
    return AESGCM(derived.derive(key))
