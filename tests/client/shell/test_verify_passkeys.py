"""`wake verify` checks who signed an answer with a passkey, with nothing but the receipt."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from tests.client.shell import test_verify
from tests.client.shell.test_verify import Files, Signer
from wake.proof import sd_jwt
from wake_client.proof.signatures import NotSignedByPasskey, check_signers, signers
from wake_client.shell.output import ExitStatus

pytestmark = pytest.mark.once

files, signer = test_verify.files, test_verify.signer
ISSUER, HOST = "https://wake.example.com", "wake.example.com"
DIGEST = "d" * 64


def as_text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def sign(key: Any, signed: bytes) -> bytes:
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(signed, ec.ECDSA(hashes.SHA256()))
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
    found: bytes = key.sign(signed)
    return found


def statement(**changes: Any) -> dict[str, Any]:
    return {
        "delivery_id": "d-1",
        "digest": DIGEST,
        "edited_content_sha256": None,
        "feedback_sha256": None,
        "random": "cmFuZG9t",
        "status": "approved",
        "type": "wake-answer",
        **changes,
    }


def signature(
    said: dict[str, Any] | None = None,
    *,
    key: Any = None,
    host: str = HOST,
    flags: int = 0x05,
    shown: dict[str, Any] | None = None,
    **client: Any,
) -> dict[str, Any]:
    """Signs `said`, and shows `shown` instead if it is given."""
    said = statement() if said is None else said
    key = key or ec.generate_private_key(ec.SECP256R1())
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    challenge = as_text(hashlib.sha256(text.encode()).digest())
    given = {"type": "webauthn.get", "challenge": challenge, "origin": ISSUER, **client}
    client_data = json.dumps(given).encode()
    data = hashlib.sha256(host.encode()).digest() + bytes([flags]) + bytes(4)
    public_key = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return {
        "statement": shown or said,
        "credential_id": "aWQ",
        "public_key": as_text(public_key),
        "authenticator_data": as_text(data),
        "client_data_json": as_text(client_data),
        "signature": as_text(sign(key, data + hashlib.sha256(client_data).digest())),
    }


def claims(*signatures: Any, **changes: Any) -> dict[str, Any]:
    return {
        "iss": ISSUER,
        "delivery_id": "d-1",
        "digest": DIGEST,
        "status": "approved",
        "quorum": None,
        "signatures": list(signatures),
        **changes,
    }


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP256R1()),
        rsa.generate_private_key(65537, 2048),
        ed25519.Ed25519PrivateKey.generate(),
    ],
)
def test_each_kind_of_passkey_is_verified(key: Any) -> None:
    signed = signature(key=key)

    found = signers(claims(signed))

    public_key = base64.urlsafe_b64decode(signed["public_key"] + "==")
    assert found == [hashlib.sha256(public_key).hexdigest()]
    check_signers(found, [found[0].upper()])
    with pytest.raises(NotSignedByPasskey):
        check_signers(found, ["0" * 64])
    with pytest.raises(NotSignedByPasskey):
        check_signers([], found)


@pytest.mark.parametrize(
    ("signed", "changes"),
    [
        (signature(statement(status="redirected")), {}),
        (signature(statement(delivery_id="d-2")), {}),
        (signature(statement(digest="e" * 64)), {}),
        (signature(statement(feedback_sha256="f")), {"feedback_sha256": "0"}),
        (signature(statement(edited_content_sha256="f")), {"edited_content_sha256": None}),
        (signature(statement(type="other")), {}),
        (signature(statement(more="x")), {}),
        (signature(statement(random="b3RoZXI"), shown=statement()), {}),
        (signature(origin="https://evil.example.com"), {}),
        (signature(crossOrigin=True), {}),
        (signature(type="webauthn.create"), {}),
        (signature(host="evil.example.com"), {}),
        (signature(flags=0x01), {}),
        (signature(flags=0x04), {}),
        ({**signature(), "signature": signature()["signature"]}, {}),
        ({**signature(), "public_key": signature()["public_key"]}, {}),
        ({**signature(), "public_key": "AAAA"}, {}),
        ({**signature(), "authenticator_data": "AAAA"}, {}),
        ({**signature(), "client_data_json": as_text(b"[]")}, {}),
        ({**signature(), "client_data_json": as_text(b"[" * 100_000)}, {}),
        ({**signature(), "statement": [1]}, {}),
        ({**signature(), "signature": "é"}, {}),
        ({"statement": statement()}, {}),
        (None, {}),
        ("text", {}),
    ],
)
def test_a_wrong_signature_is_found(signed: Any, changes: dict[str, Any]) -> None:
    with pytest.raises(NotSignedByPasskey):
        signers(claims(signed, **changes))


@pytest.mark.parametrize("nothing", [claims(), claims(signatures=None), {"iss": ISSUER}])
def test_without_a_signature_nothing_is_said(nothing: dict[str, Any]) -> None:
    assert signers(nothing) == []


def test_each_of_several_people_must_have_signed() -> None:
    asked = {"quorum": {"needed": 2, "have": 2}, "feedback_sha256": "of both"}
    key = ed25519.Ed25519PrivateKey.generate()
    first, second = signature(statement(feedback_sha256="of one"), key=key), signature()

    assert len(signers(claims(first, second, **asked))) == 2
    assert signers(claims(first, **asked)) == []
    with pytest.raises(NotSignedByPasskey):
        signers(claims(first, signature(key=key), **asked))


def test_a_passkey_in_another_form_is_the_same_passkey() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    signed = signature(key=key)
    point = key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
    )
    # A SubjectPublicKeyInfo with a compressed point (RFC 5480, 2.2).
    start = bytes.fromhex("3039301306072a8648ce3d020106082a8648ce3d030107032200")
    compressed = {**signed, "public_key": as_text(start + point)}

    assert signers(claims(compressed)) == signers(claims(signed))
    with pytest.raises(NotSignedByPasskey):
        signers(claims(signed, compressed, quorum={"needed": 2, "have": 2}))


@pytest.mark.parametrize("name", ["feedback_sha256", "edited_content_sha256"])
def test_one_person_who_decides_instead_of_several_signed_these_words(name: str) -> None:
    """A redirect or a rejection needs no votes, so its words are those of one person."""
    asked = {"quorum": {"needed": 2, "have": 0}, "status": "redirected"}
    signed = signature(statement(status="redirected", **{name: "of the person"}))

    assert len(signers(claims(signed, **asked, **{name: "of the person"}))) == 1
    with pytest.raises(NotSignedByPasskey):
        signers(claims(signed, **asked, **{name: "of another"}))


def test_a_receipt_of_version_0_2_has_no_digest_to_compare() -> None:
    assert signers(claims(signature(statement(digest="0" * 64)), digest=None))


def test_the_usual_port_is_left_out() -> None:
    assert signers(claims(signature(), iss=f"{ISSUER}:443"))


def receipt(signer: Signer, *signatures: dict[str, Any]) -> str:
    """Returns a receipt that discloses these signatures."""
    hidden = [sd_jwt.element(each) for each in signatures]
    more: dict[str, Any] = {
        "digest": DIGEST,
        "status": "approved",
        "signatures": sd_jwt.hidden_elements(hidden),
    }
    return signer.receipt(bare=True, **more) + sd_jwt.joined(hidden)


def test_the_command_says_who_signed(files: Files, signer: Signer) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    text = receipt(signer, signature(key=key))

    status, printed = files.verify(text, signer.jwk())

    assert (status, printed["signed_by_passkey"]) == (ExitStatus.OK, True)
    (fingerprint,) = printed["signers"]
    assert files.verify(text, signer.jwk(), more=["--signer", fingerprint])[0] == ExitStatus.OK
    status, printed = files.verify(text, signer.jwk(), more=["--signer", "0" * 64])
    assert (status, printed["signed"]) == (ExitStatus.NOT_SIGNED_BY_PASSKEY, True)
    assert printed["reason"] == "A passkey that you did not name signed the answer."


def test_the_command_finds_a_wrong_signature(files: Files, signer: Signer) -> None:
    text = receipt(signer, signature(statement(status="redirected")))

    status, printed = files.verify(text, signer.jwk())

    assert (status, printed["signed_by_passkey"]) == (ExitStatus.NOT_SIGNED_BY_PASSKEY, False)
    assert printed["reason"] == "A passkey signed another status."


def test_a_receipt_without_a_signature_fails_only_if_one_is_asked_for(
    files: Files, signer: Signer
) -> None:
    status, printed = files.verify(signer.receipt(), signer.jwk())
    assert (status, printed["signed_by_passkey"]) == (ExitStatus.OK, None)

    status, printed = files.verify(signer.receipt(), signer.jwk(), more=["--signer", "0" * 64])
    assert status == ExitStatus.NOT_SIGNED_BY_PASSKEY
    assert printed["reason"] == "The receipt has no signature of a passkey, or not enough of them."
