"""The server signs callbacks, and the SDK verifies them."""

from __future__ import annotations

import base64
import hmac
import json
from datetime import UTC, datetime, timedelta

import pytest

from wake.callbacks import signatures
from wake_client import SignatureMismatch, verify, verify_signature

SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="
OLDER = "whsec_" + "ZmVkY2JhWllYV1ZVVFNSUVBPTk1MS0pJSEdGRURDQkE="
AT = datetime(2026, 3, 7, 9, 14, 22, tzinfo=UTC)
BODY = json.dumps(
    {
        "delivery_id": "550e8400-e29b-41d4-a716-446655440000",
        "status": "redirected",
        "feedback": "Cut section 3.",
        "edited_content": {"updated_brief": "..."},
        "responded_at": "2026-03-07T09:14:22Z",
    }
).encode()


def signed(*secrets: str) -> dict[str, str]:
    return signatures.sign(BODY, secrets=secrets or (SECRET,), message_id="m", at=AT)


def test_a_callback_of_the_server_is_accepted() -> None:
    answer = verify(BODY, signed(), SECRET, at=AT.timestamp())

    assert (answer.status, answer.feedback) == ("redirected", "Cut section 3.")
    assert answer.edited_content == {"updated_brief": "..."}
    assert answer.responded_at == AT


@pytest.mark.parametrize("secret", [OLDER, SECRET])
def test_during_a_rotation_both_secrets_verify(secret: str) -> None:
    assert verify(BODY, signed(OLDER, SECRET), secret, at=AT.timestamp()).is_answered


def test_the_signature_of_the_specification_alone_is_enough() -> None:
    headers = {"x-wake-signature": signed()["X-Wake-Signature"]}

    assert verify(BODY, headers, SECRET).is_answered


@pytest.mark.parametrize("seconds", [-301, 301])
def test_a_callback_that_was_sent_too_long_ago_is_refused(seconds: int) -> None:
    at = AT + timedelta(seconds=seconds)

    with pytest.raises(SignatureMismatch):
        verify(BODY, signed(), SECRET, at=at.timestamp())
    assert verify(BODY, signed(), SECRET, at=at.timestamp(), tolerance=400).is_answered


@pytest.mark.parametrize(
    "wrong",
    [
        {"X-Wake-Signature": "sha256=00"},
        {"X-Wake-Signature": "sha256=\xff"},
        {"X-Wake-Signature": ""},
        {},
        {**signed(), "webhook-signature": "v1,AAAA v1a,BBBB"},
        {**signed(), "webhook-id": "another"},
        {**signed(), "webhook-timestamp": "1e9"},
        {**signed(), "webhook-timestamp": ""},
    ],
)
def test_another_signature_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(SignatureMismatch):
        verify(BODY, wrong, SECRET, at=AT.timestamp())


@pytest.mark.parametrize("headers", [signed(), {"X-Wake-Signature": signed()["X-Wake-Signature"]}])
def test_another_body_or_secret_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(SignatureMismatch):
        verify(BODY + b" ", headers, SECRET, at=AT.timestamp())
    with pytest.raises(SignatureMismatch):
        verify(BODY, headers, OLDER, at=AT.timestamp())


@pytest.mark.parametrize("secret", ["", " ", "whsec_"])
@pytest.mark.parametrize("alone", [False, True])
def test_without_a_secret_every_callback_is_refused(secret: str, *, alone: bool) -> None:
    plain = hmac.new(secret.encode(), BODY, "sha256").hexdigest()
    standard = f"m.{AT.timestamp():.0f}.".encode() + BODY
    headers = {"X-Wake-Signature": f"sha256={plain}"}
    if not alone:
        headers |= {
            "webhook-id": "m",
            "webhook-timestamp": f"{AT.timestamp():.0f}",
            "webhook-signature": "v1,"
            + base64.b64encode(hmac.digest(b"", standard, "sha256")).decode(),
        }

    with pytest.raises(SignatureMismatch, match="no secret"):
        verify(BODY, headers, secret, at=AT.timestamp())
    assert not verify_signature(BODY, headers["X-Wake-Signature"], secret)


def test_a_secret_may_end_in_a_line_break() -> None:
    assert verify(BODY, signed(), f"{SECRET}\n", at=AT.timestamp()).is_answered
