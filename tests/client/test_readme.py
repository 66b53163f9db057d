"""The parts of programs in client/README.md and docs/adapters/README.md run."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from starlette.applications import Starlette

from tests.documents.blocks import documented
from wake.callbacks.signatures import sign
from wake_client import SignatureMismatch

SECRET = "whsec_" + "c2VjcmV0IG9mIHRoZSB0ZXN0cw=="
DELIVERY_ID = "550e8400-e29b-41d4-a716-446655440000"
ANSWER: dict[str, str | None] = {
    "delivery_id": DELIVERY_ID,
    "status": "approved",
    "responded_at": None,
}
ANSWER |= {"feedback": None, "edited_content": None}


def run(part: str, **names: Any) -> dict[str, Any]:
    """Runs the part of a program, with the names that the text around it explains."""
    exec(compile(part, "README.md", "exec"), names)  # noqa: S102 - our own document
    return names


def test_the_readmes_receiver_verifies_a_callback() -> None:
    part = documented("client/README.md", "verify(request.body")
    body = json.dumps(ANSWER).encode()
    at = timezone.now()
    headers = sign(body, secrets=[SECRET], message_id=DELIVERY_ID, at=at)

    request = SimpleNamespace(body=body, headers=headers)
    assert run(part, request=request, secret=SECRET)["answer"].status == "approved"

    request.body += b" "
    with pytest.raises(SignatureMismatch):
        run(part, request=request, secret=SECRET)


def test_the_readmes_receiver_is_added_to_an_application() -> None:
    app = Starlette()

    names = run(
        documented("client/README.md", "receiver.add_to(app"),
        secret=SECRET,
        handle=lambda answer: None,
        app=app,
    )

    assert {route.path for route in app.routes} == {"/wake", "/wake/"}  # type: ignore[attr-defined]
    assert callable(names["view"])


def test_the_readmes_blocks_are_a_page_of_details() -> None:
    details = run(documented("client/README.md", 'name="told", multiple=True'))["details"]

    assert [block["type"] for block in details["blocks"]] == ["markdown", "choice", "choice"]


def test_the_adapters_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    names = run(documented("docs/adapters/README.md", "AskOptions(irreversible=True)"))
    call = run(documented("docs/adapters/README.md", 'ToolCall("My framework"'))["call"]

    with closing(names["wake"]):
        assert (tmp_path / "approvals.db").exists()
    assert call.tool == "refund"
