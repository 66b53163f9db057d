"""Notes and cosignatures have the bytes that their specifications define. Any other bytes are
refused."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from accounts.log.checkpoints.notes import BadVerifierKey, VerifierKey, cosignatures, sign, text_of
from tests.accounts.log.checkpoints.witness import cosign

pytestmark = pytest.mark.once

TEXT = "wake.example.com/log\n3\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"


def key_of(private: Ed25519PrivateKey, name: str = "witness.example/w1") -> VerifierKey:
    return VerifierKey(name, private.public_key().public_bytes_raw())


@pytest.fixture
def private() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


def test_a_key_of_the_go_project_is_read() -> None:
    text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"

    key = VerifierKey.parse(text)  # from the documentation of golang.org/x/mod/sumdb/note

    assert (key.name, str(key)) == ("PeterNeumann", text)


def test_a_note_of_the_go_project_has_the_same_key_id(private: Ed25519PrivateKey) -> None:
    note = sign(TEXT, name="wake.example.com/log", key=private)
    *_, line = note.splitlines()

    assert text_of(note) == TEXT
    mark, name, encoded = line.split(" ")
    content = base64.b64decode(encoded)
    assert (mark, name, len(content)) == ("—", "wake.example.com/log", 4 + 64)
    assert content[:4] == key_of(private, name).id(0x01)
    private.public_key().verify(content[4:], TEXT.encode())


@pytest.mark.parametrize(
    "text",
    [
        *("", "name", "name+00000000+AAAA", "name+zz+!!", "na me+c74f20a3+ARpc", "a+b+c+d"),
        "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumenn+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10T",
    ],
)
def test_another_text_is_no_key(text: str) -> None:
    with pytest.raises(BadVerifierKey):
        VerifierKey.parse(text)


def test_a_witness_cosigns(private: Ed25519PrivateKey) -> None:
    line = cosign(TEXT, name="witness.example/w1", key=private, at=1_679_315_147)
    stranger = cosign(TEXT, name="other.example", key=Ed25519PrivateKey.generate(), at=1)

    found = cosignatures(stranger + line + "no line\n", text=TEXT, key=key_of(private))

    assert found == line


@pytest.mark.parametrize("what", ["key", "name", "text", "time", "short", "no base64"])
def test_a_cosignature_of_something_else_does_not_count(
    what: str, private: Ed25519PrivateKey
) -> None:
    signer = Ed25519PrivateKey.generate() if what == "key" else private
    name = "other.example" if what == "name" else "witness.example/w1"
    text = TEXT.replace("3", "4") if what == "text" else TEXT
    line = cosign(text, name=name, key=signer, at=1_679_315_147)
    *head, encoded = line.split(" ")
    content = base64.b64decode(encoded)
    if what == "time":
        content = content[:4] + bytes(8) + content[12:]
    if what == "short":
        content = content[:9]
    encoded = "=" if what == "no base64" else base64.b64encode(content).decode()

    lines = " ".join([*head, encoded]) + "\n"

    assert cosignatures(lines, text=TEXT, key=key_of(private)) == ""
