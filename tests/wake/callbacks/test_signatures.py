"""A receiver can verify a callback in two ways."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.wake.callbacks.verifying import verify, verify_standard
from wake.callbacks.signatures import NoSecret, sign

CLIENTS = Path(__file__).parent.parent.parent / "spec" / "clients"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NEWER = "whsec_" + "bmV3ZXIgc2VjcmV0IG9mIDMyIGJ5dGVzIGFsbCB0b2xkIQ=="
NODE = shutil.which("node") or ""
BODY = '{"feedback":"Ja, schön: 漢字"}'.encode()
AT = datetime(2021, 2, 25, 15, 2, 10, 900_000, tzinfo=UTC)


# The code is from the specification, "Node.js - verify webhook", from `const crypto` to the end of
# the function.
NODE_VERIFIER = """
const crypto = require("crypto");
const WEBHOOK_SECRET = process.env.WAKE_WEBHOOK_SECRET;

function verifyWakeWebhook(payloadBody, signatureHeader) {
    // payloadBody must be raw Buffer — not parsed JSON
    const expected = "sha256=" + crypto
        .createHmac("sha256", WEBHOOK_SECRET)
        .update(payloadBody)
        .digest("hex");
    // Always use timingSafeEqual — never ===
    return crypto.timingSafeEqual(
        Buffer.from(expected),
        Buffer.from(signatureHeader)
    );
}
"""


def signed(body: bytes = BODY, *secrets: str) -> dict[str, str]:
    return sign(body, secrets=secrets or [SECRET], message_id="msg_1", at=AT)


def specifications_verifier(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes, str], bool]:
    monkeypatch.setenv("WAKE_WEBHOOK_SECRET", SECRET)
    function = (CLIENTS / "spec-verify-webhook.txt").read_text().partition("# In your handler")[0]
    names: dict[str, Any] = {}
    exec(function, names)  # noqa: S102 - the specification's own code, unchanged
    verifier: Callable[[bytes, str], bool] = names["verify_wake_webhook"]
    return verifier


def whitepapers_verifier() -> Callable[[str, bytes, str], bool]:
    names: dict[str, Any] = {}
    exec((CLIENTS / "whitepaper-verify-webhook.txt").read_text(), names)  # noqa: S102
    verifier: Callable[[str, bytes, str], bool] = names["verify_webhook"]
    return verifier


def test_the_specifications_own_verifiers_accept_it(monkeypatch: pytest.MonkeyPatch) -> None:
    header = signed()["X-Wake-Signature"]

    assert specifications_verifier(monkeypatch)(BODY, header) is True
    assert whitepapers_verifier()(SECRET, BODY, header) is True


def test_the_verifiers_refuse_another_body(monkeypatch: pytest.MonkeyPatch) -> None:
    header = signed()["X-Wake-Signature"]

    assert specifications_verifier(monkeypatch)(BODY + b" ", header) is False
    assert whitepapers_verifier()(SECRET, BODY + b" ", header) is False


@pytest.mark.skipif(not NODE, reason="node is not here")
def test_the_specifications_node_verifier_accepts_it() -> None:
    call = (
        f"{NODE_VERIFIER}; const given = JSON.parse(process.env.GIVEN);"
        "console.log(verifyWakeWebhook(Buffer.from(given.body), given.header),"
        " verifyWakeWebhook(Buffer.from(given.body + ' '), given.header))"
    )
    given = json.dumps({"body": BODY.decode(), "header": signed()["X-Wake-Signature"]})

    process = subprocess.run(
        [NODE, "-e", call],
        env={**os.environ, "WAKE_WEBHOOK_SECRET": SECRET, "GIVEN": given},
        capture_output=True,
        text=True,
        check=True,
    )

    assert process.stdout.split() == ["true", "false"]


def test_it_is_what_standard_webhooks_publishes_as_its_example() -> None:
    headers = sign(
        b'{"test": 2432232314}',
        secrets=[SECRET],
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        at=datetime.fromtimestamp(1614265330, UTC),
    )

    assert headers["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert headers["webhook-timestamp"] == "1614265330"
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_during_a_rotation_the_old_secret_signs_both_headers_and_the_new_one_one() -> None:
    headers = signed(BODY, SECRET, NEWER)

    assert verify(BODY, headers["X-Wake-Signature"], secret=SECRET)
    assert not verify(BODY, headers["X-Wake-Signature"], secret=NEWER)
    assert verify_standard(BODY, headers, secret=SECRET, at=AT)
    assert verify_standard(BODY, headers, secret=NEWER, at=AT)


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_replayed_callback_is_refused(minutes: int) -> None:
    headers = signed()

    assert verify_standard(BODY, headers, secret=SECRET, at=AT + timedelta(minutes=minutes / 2))
    assert not verify_standard(BODY, headers, secret=SECRET, at=AT + timedelta(minutes=minutes))


@pytest.mark.parametrize(
    "forged",
    [
        {"webhook-id": "msg_2"},
        {"webhook-timestamp": str(int(AT.timestamp()) + 1)},
        {"webhook-timestamp": "now"},
        {"webhook-timestamp": "9" * 5_000},
        {"webhook-signature": "v1,bm90IGl0"},
        {"webhook-signature": "v1,é"},
        {"webhook-signature": ""},
    ],
)
def test_a_forged_callback_is_refused(forged: dict[str, str]) -> None:
    assert not verify_standard(BODY, signed() | forged, secret=SECRET, at=AT)


@pytest.mark.parametrize("forged", ["", "sha256=", "sha256=é", "sha256=" + "0" * 64])
def test_a_forged_plain_signature_is_refused(forged: str) -> None:
    assert not verify(BODY, forged, secret=SECRET)


def test_without_a_secret_nothing_is_signed() -> None:
    with pytest.raises(NoSecret):
        sign(BODY, secrets=[], message_id="msg_1", at=AT)
