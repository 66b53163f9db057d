"""The digest of a delivery covers what a person approves (docs/protocol.md, Digest)."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_type_hints

import pytest
import rfc8785
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Agent, User
from database.idempotency import Idempotency
from tests.fixtures.agent_client import AgentClient
from tests.types import MakeRule
from wake import retention
from wake.deliveries import DeliveryFields, deliver
from wake.models import Callback, CallbackHost, Delivery, Response, Retention
from wake.proof import digest

pytestmark = pytest.mark.django_db

TEXTS = st.text(st.characters(codec="utf-8"))


def canonical_digest(content: dict[str, Any]) -> str:
    """Computes a digest as another program would, from docs/protocol.md."""
    return hashlib.sha256(rfc8785.dumps(content)).hexdigest()


@given(
    headline=TEXTS,
    details=st.none() | TEXTS,
    quorum=st.none() | st.integers(2, 5),
    timeout=st.none() | st.integers(60, 604_800),
    is_irreversible=st.booleans(),
    files=st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), max_size=3),
)
def test_it_is_over_the_canonical_form(
    headline: str,
    details: str | None,
    quorum: int | None,
    timeout: int | None,
    is_irreversible: bool,
    files: list[str],
) -> None:
    delivery = Delivery(
        claimed_agent_id="a",
        type="question",
        headline=headline,
        summary="s",
        details_json=details,
        timeout_seconds=timeout,
        quorum=quorum,
        irreversible=is_irreversible,
        nonce="n",
    )

    content = digest.content_of(delivery, files=files)

    assert digest.content_digest(delivery, files=files) == canonical_digest(content)


def test_every_field_is_in_it_or_named_as_left_out() -> None:
    fields = {
        "details" if name == "details_json" else name for name in get_type_hints(DeliveryFields)
    }
    content = set(digest.content_of(Delivery(), files=[]))

    assert content - {"nonce", "files"} | set(digest.LEFT_OUT) == fields
    assert not content & set(digest.LEFT_OUT)


def test_the_receipt_has_what_the_agent_cannot_know(caller: AgentClient) -> None:
    details = '{"amount": 180.00, "to":"Ann"}'
    payload = caller.payload(type="question", irreversible=True, quorum=2, digest=True)
    body = json.dumps(payload)[:-1] + f', "details": {details}}}'

    receipt = caller.post(body).json()

    assert list(receipt) == [
        *("delivery_id", "status", "created_at", "on_timeout", "digest", "nonce", "quorum")
    ]
    assert len(base64.urlsafe_b64decode(receipt["nonce"] + "==")) == 16
    assert receipt["digest"] == canonical_digest(
        {
            "agent_id": caller.agent_id,
            "type": "question",
            "headline": payload["headline"],
            "summary": payload["summary"],
            "details": details,
            "assumption": None,
            "on_timeout": "hold",
            "timeout_seconds": None,
            "irreversible": True,
            "quorum": 2,
            "supersedes": None,
            "files": [],
            "nonce": receipt["nonce"],
        }
    )


def test_files_count_in_their_order(caller: AgentClient) -> None:
    blobs = [caller.upload(text, "text/plain").json() for text in (b"one", b"two")]
    named = [{"type": "file", "blob": blob["blob_id"], "name": "f.txt"} for blob in reversed(blobs)]

    receipt = caller.post(
        caller.payload(digest=True, details={"wake_blocks": 1, "blocks": named})
    ).json()

    assert receipt["files"] == [blob["sha256"] for blob in reversed(blobs)]
    assert receipt["digest"] == Delivery.objects.get().content_hash


def test_a_rule_that_raises_the_quorum_is_in_it(
    caller: AgentClient, make_rule: MakeRule, bob: User
) -> None:
    make_rule(people=[bob], needed=2)

    receipt = caller.post(caller.payload(type="question", digest=True)).json()

    assert receipt["quorum"] == 2


def test_answers_carry_it_wherever_they_are_read(
    caller: AgentClient, answer: Callable[..., Response]
) -> None:
    CallbackHost.objects.create(team=caller.key.agent.team, pattern="hooks.example.com")
    url = "https://hooks.example.com/wake"
    receipt = caller.post(caller.payload(digest=True, callback_webhook=url)).json()
    pk, expected = receipt["delivery_id"], {name: receipt[name] for name in ("digest", "nonce")}
    assert not expected.keys() & caller.poll(pk).keys()

    answer(pk)

    polled = caller.poll(pk)
    assert {name: polled[name] for name in expected} == expected
    assert caller.sweep()["deliveries"] == [polled]
    assert json.loads(bytes(Callback.objects.get().body)) == polled


def test_who_does_not_ask_gets_no_byte_more(
    caller: AgentClient, answer: Callable[..., Response]
) -> None:
    receipt = caller.post(caller.payload()).json()
    answer(receipt["delivery_id"])

    assert list(receipt) == ["delivery_id", "status", "created_at"]
    assert not {"digest", "nonce"} & caller.poll(receipt["delivery_id"]).keys()


def test_a_repeated_request_gets_the_same_digest(caller: AgentClient) -> None:
    body = caller.payload(digest=True)

    first, again = (caller.post(body, **{"Idempotency-Key": "once"}).json() for _ in range(2))

    assert first == again


def test_two_deliveries_of_the_same_words_have_two_digests(agent: Agent) -> None:
    words: dict[str, Any] = {
        "agent_id": agent.agent_id,
        "provider": "claude",
        "type": "question",
        "headline": "Pay?",
        "summary": "EUR 180",
    }

    pair = {deliver(agent, at=timezone.now(), **words).delivery.content_hash for _ in range(2)}

    assert len(pair) == 2


def test_after_erasing_nothing_confirms_a_guess(
    caller: AgentClient, answer: Callable[..., Response], age: Callable[..., None]
) -> None:
    pk = caller.post(caller.payload(digest=True)).json()["delivery_id"]
    answer(pk)
    before = caller.poll(pk)
    age(pk, days=40)
    Retention.objects.create(team=caller.key.agent.team, days=30)
    Delivery.objects.filter(pk=pk).update(activity_at=timezone.now() - timedelta(days=40))

    assert retention.erase_old(at=timezone.now()) == 1

    after = caller.poll(pk)
    assert (after["digest"], "nonce" in after) == (before["digest"], False)


@pytest.mark.parametrize("value", ["yes", 1, []])
def test_it_is_asked_for_with_true_or_false(value: Any, caller: AgentClient) -> None:
    assert caller.post(caller.payload(digest=value)).status_code == 422


def test_an_idempotency_fingerprint_covers_the_wish(caller: AgentClient) -> None:
    assert Idempotency.of("k", caller.payload()) != Idempotency.of("k", caller.payload(digest=True))
