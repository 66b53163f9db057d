"""The client compares the content that it sent with the content that was approved, and uses an
approval once. The server behind the transport is the real one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fixtures.agent_client import AgentClient
from tests.types import MakeRule
from wake.models import Claim, Outcome, Response
from wake_client import ContentMismatch, NotClaimed, Receipt, WakeClient, blocks, content_digest

pytestmark = pytest.mark.django_db

Change = Callable[[dict[str, Any]], Any]
# The client for JavaScript reads the same vectors (client-js/tests/digest.test.ts).
VECTORS = json.loads(Path(__file__).with_name("digest_vectors.json").read_text(encoding="utf-8"))
HEADLINE, SUMMARY = "Refund für Ann 🎉?", 'EUR 180 "today"\u2028'.strip()


class Wire(httpx.BaseTransport):
    """Carries requests to Django's views. `changes` alter the body of a request, or of a response,
    on the way."""

    def __init__(self, caller: AgentClient) -> None:
        self.caller = caller
        self.change_request: Change | None = None
        self.change_response: Change | None = None

    def client(self) -> WakeClient:
        key = self.caller.key.text  # type: ignore[attr-defined]
        return WakeClient(
            "https://wake.example.com", key, agent_id=self.caller.agent_id, transport=self
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.caller.client.generic(
            request.method,
            request.url.raw_path.decode(),
            _changed(request.read(), self.change_request),
            content_type=request.headers.get("Content-Type", ""),
            headers={
                name: request.headers[name]
                for name in ("Authorization", "Idempotency-Key")
                if name in request.headers
            },
            secure=True,
        )
        content = _changed(response.content, self.change_response)
        return httpx.Response(response.status_code, content=content, headers=response.headers)


def _changed(content: bytes, change: Change | None) -> bytes:
    if not change:
        return content
    body = json.loads(content)
    change(body)
    return json.dumps(body).encode()


@pytest.fixture
def wire(caller: AgentClient) -> Wire:
    return Wire(caller)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_digest_is_the_same_in_every_language(vector: dict[str, Any]) -> None:
    stored = {"delivery_id": "d", "created_at": "2026-03-07T09:14:22Z", **vector["receipt"]}

    computed = content_digest(vector["sent"], Receipt.read(stored), files=vector["files"])

    assert computed == vector["digest"]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"details": 'é\n\t\u2028\x7f \\ / "', "assumption": "No\u00a0one: I wait."},
        {"details": {"a": [1.5, 2**53 + 1, None, {"ü": True}]}, "timeout_seconds": 3600},
        {"irreversible": True, "quorum": 2, "on_timeout": "abort", "claim_within_seconds": 60},
        {"irreversible": True},
    ],
)
def test_what_is_stored_is_what_was_sent(fields: dict[str, Any], wire: Wire) -> None:
    receipt = wire.client().deliver("question", HEADLINE, SUMMARY, digest=True, **fields)

    assert receipt.digest
    assert receipt.nonce


def test_a_rule_that_changes_the_delivery_is_no_mismatch(wire: Wire, make_rule: MakeRule) -> None:
    make_rule(role="owner", needed=3)

    receipt = wire.client().deliver("question", HEADLINE, SUMMARY, digest=True, timeout_seconds=60)

    assert receipt.quorum is not None


def test_files_count_also_those_of_another_client(wire: Wire) -> None:
    client = wire.client()
    blob = client.upload(b"the contract", media_type="text/plain")
    details = {"wake_blocks": 1, "blocks": [blocks.file(blob, "contract.txt")]}

    for each in (client, wire.client()):
        receipt = each.deliver("question", HEADLINE, SUMMARY, digest=True, details=details)
        assert receipt.files == (blob.sha256,)


def test_another_file_is_found(wire: Wire) -> None:
    client = wire.client()
    mine, other = (client.upload(text, media_type="text/plain") for text in (b"mine", b"other"))
    details = {"wake_blocks": 1, "blocks": [blocks.file(mine, "contract.txt")]}

    def swap(body: dict[str, Any]) -> None:
        body["details"]["blocks"][0]["blob"] = other.blob_id

    wire.change_request = swap
    with pytest.raises(ContentMismatch):
        client.deliver("question", HEADLINE, SUMMARY, digest=True, details=details)


@pytest.mark.parametrize(
    "change",
    [
        {"headline": "Refund for Bob?"},
        {"summary": "EUR 90,000"},
        {"details": {"amount": 181}},
        {"type": "update"},
        {"assumption": "I refund."},
        {"timeout_seconds": 60},
        {"irreversible": False},
        {"on_timeout": "abort"},
    ],
)
def test_another_content_is_found_at_once(change: dict[str, Any], wire: Wire) -> None:
    wire.change_request = lambda body: body.update(change)

    with pytest.raises(ContentMismatch, match="not that of what was sent"):
        wire.client().deliver(
            "question",
            HEADLINE,
            SUMMARY,
            digest=True,
            details={"amount": 180},
            irreversible=True,
        )


def test_an_answer_to_something_else_is_not_returned(
    wire: Wire, answer: Callable[..., Response]
) -> None:
    client = wire.client()
    receipt = client.deliver("question", HEADLINE, SUMMARY, digest=True)
    answer(receipt.delivery_id)
    assert client.wait(receipt.delivery_id, digest=receipt.digest).status == "approved"

    wire.change_response = lambda body: body.update(digest="0" * 64)

    with pytest.raises(ContentMismatch, match="not for what was sent"):
        client.wait(receipt.delivery_id, digest=receipt.digest)


def test_an_approval_is_claimed_and_its_outcome_reported(
    wire: Wire, answer: Callable[..., Response]
) -> None:
    client = wire.client()
    receipt = client.deliver("question", HEADLINE, SUMMARY, digest=True)
    pk, digest = receipt.delivery_id, receipt.digest or ""
    with pytest.raises(NotClaimed) as early:
        client.claim(pk, digest=digest)
    answer(pk)

    claim = client.claim(pk, digest=digest, idempotency_key="once")

    assert dataclasses.replace(claim, replayed=True) == client.claim(
        pk, digest=digest, idempotency_key="once"
    )
    assert (claim.delivery_id, claim.claim_id) == (pk, str(Claim.objects.get().pk))
    with pytest.raises(NotClaimed) as second:
        client.claim(pk, digest=digest)
    assert (early.value.code, second.value.code) == ("not_approved", "already_claimed")
    outcome = client.report(pk, "done", "Refund re_3F sent.", details={"id": "re_3F"})
    row = Outcome.objects.get()
    assert (outcome.status, outcome.reported_at) == ("done", row.reported_at)
    assert (row.summary, row.details) == ("Refund re_3F sent.", {"id": "re_3F"})


def test_an_earlier_id_has_one_form_in_a_digest(wire: Wire) -> None:
    client = wire.client()
    earlier = client.deliver("question", HEADLINE, SUMMARY).delivery_id

    for id in (earlier.upper(), earlier.replace("-", "")):
        newer = client.deliver("question", HEADLINE, SUMMARY, supersedes=id, digest=True)
        assert newer.digest
        earlier = newer.delivery_id


def test_a_server_that_sends_no_digest_is_not_believed(wire: Wire) -> None:
    wire.change_request = lambda body: body.pop("digest")

    with pytest.raises(ContentMismatch):
        wire.client().deliver("question", HEADLINE, SUMMARY, digest=True)
