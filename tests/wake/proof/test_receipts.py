"""A receipt is an SD-JWT that foreign libraries verify. The receipt says who decided what, and its
bytes stay the same."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from jwcrypto.jwk import JWK  # type: ignore[import-untyped]
from sd_jwt.verifier import SDJWTVerifier  # type: ignore[import-untyped]

from accounts.agents import gates, keys
from accounts.audit import SYSTEM
from accounts.models import Agent, Gate, Team, User
from accounts.sign_in.browsers.sessions import Authentication
from database.clock import database_now
from tests.fixtures import peers
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.answering_rules import run_rules
from tests.types import MakeAnsweringRule
from wake import wire
from wake.models import Delivery, Place, Receipt, ReceiptKey, Response, Sight
from wake.proof import receipt_keys, receipts
from wake.responses import release_due, respond
from wake.undo import PickedUp, take_back

pytestmark = pytest.mark.django_db

Answer = Callable[..., Response]
HERE = Path(__file__).parent
CLAIMS = [
    *("iss", "iat", "jti", "delivery_id", "agent_id", "team", "mode", "digest"),
    *(
        "irreversible",
        "status",
        "decided_by",
        "rule",
        "quorum",
        "via",
        "late",
        "amr",
        "auth_time",
        "opened_at",
    ),
    *("answered_at", "released_at", "claimed_at", "votes", "signatures"),
]


@pytest.fixture
def gate(team: Team, agent: Agent) -> tuple[Gate, str]:
    return gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=database_now())


def delivered(caller: AgentClient, **fields: Any) -> Delivery:
    receipt = caller.post(caller.payload(type="question", digest=True, **fields)).json()
    return Delivery.objects.get(pk=receipt["delivery_id"])


def get(caller: AgentClient, pk: Any, text: str = "") -> Any:
    headers = {"Authorization": f"Bearer {text}"} if text else caller.headers
    return caller.client.get(f"/wake/v1/receipt/{pk}", headers=headers)


def verified(receipt: str) -> dict[str, Any]:
    """Returns the claims with everything that is disclosed, read by the library sd-jwt."""
    keys = {key["kid"]: key for key in receipt_keys.key_set()["keys"]}
    verifier = SDJWTVerifier(receipt, lambda _, header: JWK(**keys[header["kid"]]), None, None)
    claims: dict[str, Any] = verifier.get_verified_payload()
    return claims


def verified_by_javascript(*receipts: str) -> list[dict[str, Any]]:
    """Returns what @sd-jwt/core reads in each receipt."""
    command = peers.command(HERE / "peers" / "js_sd_jwt", "verify")
    asked = {**receipt_keys.key_set(), "receipts": receipts}
    run = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=60
    )
    results: list[dict[str, Any]] = json.loads(run.stdout)
    return results


def header_of(receipt: str) -> dict[str, Any]:
    first = receipt.split(".")[0]
    header: dict[str, Any] = json.loads(base64.urlsafe_b64decode(first + "=="))
    return header


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_key_that_ended_a_moment_ago_gets_no_receipt(
    caller: AgentClient, agent: Agent, answer: Answer
) -> None:
    delivery = delivered(caller)
    answer(delivery)
    first = get(caller, delivery.pk)
    keys.revoke(caller.key, by=SYSTEM, at=database_now())

    after, with_proof = get(caller, delivery.pk), get(caller, f"{delivery.pk}?proof=1")

    assert first.status_code == 200
    assert (after.status_code, with_proof.status_code) == (401, 401)


def test_it_says_who_decided_what(caller: AgentClient, alice: User, answer: Answer) -> None:
    delivery = delivered(caller, irreversible=True)
    opened_at = database_now() - timedelta(minutes=1)
    response = answer(
        delivery,
        feedback="Only today.",
        sight=Sight(Place.PAGE, (), opened_at=opened_at),
        signed_in=Authentication(("pwd", "otp"), opened_at),
    )

    answered = get(caller, delivery.pk)

    receipt = answered.content.decode()
    claims = verified(receipt)
    assert (answered.status_code, answered["Content-Type"]) == (200, "application/sd-jwt")
    assert answered["Cache-Control"] == "no-store"
    assert header_of(receipt) == {
        "typ": "wake-receipt+sd-jwt",
        "alg": "Ed25519",
        "kid": ReceiptKey.objects.get().kid,
    }
    assert [name for name in claims if not name.endswith("_sha256")] == CLAIMS
    row = Receipt.objects.get()
    assert response.responded_at is not None
    assert claims == {
        "iss": "http://127.0.0.1:8000",
        "iat": int(row.issued_at.timestamp()),
        "jti": str(row.pk),
        "delivery_id": str(delivery.pk),
        "agent_id": caller.agent_id,
        "team": delivery.team_id,
        "mode": "live",
        "digest": delivery.content_hash,
        "irreversible": True,
        "status": "approved",
        "decided_by": "person",
        "rule": None,
        "quorum": None,
        "via": "page",
        "late": False,
        "amr": ["pwd", "otp"],
        "auth_time": int(opened_at.timestamp()),
        "opened_at": wire.instant(opened_at),
        "answered_at": wire.instant(response.answered_at),
        "released_at": wire.instant(response.responded_at),
        "claimed_at": None,
        "votes": [],
        "signatures": [],
        "feedback_sha256": sha256("Only today."),
        "edited_content_sha256": None,
    }
    decided = verified(receipts.for_people(row))["person"]
    assert decided == {"id": str(alice.pk), "name": alice.display_name}


def test_the_receipt_of_a_test_delivery_says_so(in_test_mode: AgentClient, answer: Answer) -> None:
    delivery = delivered(in_test_mode)
    answer(delivery)

    assert verified(get(in_test_mode, delivery.pk).content.decode())["mode"] == "test"


def test_an_answer_without_opening_it_says_so(caller: AgentClient, answer: Answer) -> None:
    delivery = delivered(caller)
    answer(delivery, sight=Sight(Place.LIST, ()))

    claims = verified(get(caller, delivery.pk).content.decode())

    assert (claims["via"], claims["opened_at"]) == ("list", None)
    assert (claims["amr"], claims["auth_time"]) == (None, None)


def test_the_hash_of_an_edit_is_that_of_its_text_on_the_wire(
    caller: AgentClient, answer: Answer
) -> None:
    delivery = delivered(caller)
    answer(delivery, "redirected", edited_json='{"amount": 1.50, "to": "Zo\\u00eb"}')

    claims = verified(get(caller, delivery.pk).content.decode())

    body = caller.client.get(f"/wake/v1/response/{delivery.pk}", headers=caller.headers).content
    text = '{"amount": 1.50, "to": "Zo\\u00eb"}'
    assert text in body.decode()
    assert claims["edited_content_sha256"] == sha256(text)
    assert claims["feedback_sha256"] is None


def test_each_vote_is_disclosed(
    caller: AgentClient, alice: User, bob: User, answer: Answer
) -> None:
    delivery = delivered(caller, quorum=2)
    at = database_now()
    respond(
        delivery,
        by=bob,
        status="approved",
        content_hash=delivery.content_hash,
        sight=Sight(Place.LIST, ()),
        signed_in=Authentication(("fed",), at),
        at=at,
    )
    answer(delivery, signed_in=Authentication(("hwk",), at), sight=Sight(Place.PAGE, ()))

    receipt = get(caller, delivery.pk).content.decode()

    claims = verified(receipt)
    assert claims["quorum"] == {"needed": 2, "have": 2}
    votes = [(vote["by"], vote["status"], vote["via"], vote["amr"]) for vote in claims["votes"]]
    assert votes == [
        (bob.display_name, "approved", "list", ["fed"]),
        (alice.display_name, "approved", "page", ["hwk"]),
    ]
    jwt = receipt.split("~")[0]
    assert verified(f"{jwt}~")["votes"] == []


def test_it_stays_the_same_bytes_until_the_claim(caller: AgentClient, answer: Answer) -> None:
    delivery = delivered(caller)
    answer(delivery)
    first, second = (get(caller, delivery.pk).content for _ in range(2))

    caller.client.post(
        f"/wake/v1/claim/{delivery.pk}",
        json.dumps({"digest": delivery.content_hash}),
        content_type="application/json",
        headers=caller.headers,
    )
    third, fourth = (get(caller, delivery.pk).content for _ in range(2))

    assert first == second
    assert third == fourth != first
    before, after = verified(first.decode()), verified(third.decode())
    assert before["claimed_at"] is None
    assert after["claimed_at"] >= after["released_at"]
    assert before["jti"] != after["jti"]


def test_a_gate_gets_no_disclosures(
    caller: AgentClient, answer: Answer, gate: tuple[Gate, str]
) -> None:
    delivery = delivered(caller)
    answer(delivery, feedback="Yes, refund them.")

    receipt = get(caller, delivery.pk, gate[1]).content.decode()

    assert receipt.count("~") == 1
    assert verified(receipt)["status"] == "approved"
    assert "feedback_sha256" not in verified(receipt)


def test_there_is_none_before_the_answer(caller: AgentClient, answer: Answer) -> None:
    delivery = delivered(caller)
    open_, unknown = get(caller, delivery.pk), get(caller, "not-an-id")
    answer(delivery, held=True)
    held = get(caller, delivery.pk)

    assert (open_.status_code, open_.json()["error"]["code"]) == (409, "no_answer")
    assert (held.status_code, held.json()["error"]["code"]) == (409, "no_answer")
    assert unknown.status_code == 404
    assert not Receipt.objects.exists()


def test_others_get_none(
    caller: AgentClient, answer: Answer, others: AgentClient, team: Team
) -> None:
    delivery = delivered(caller)
    answer(delivery)
    _, text = gates.issue(
        team, name="Other", agents=[others.key.agent], by=SYSTEM, at=database_now()
    )

    assert get(others, delivery.pk).status_code == 404
    assert get(caller, delivery.pk, text).status_code == 404
    assert get(caller, delivery.pk, "wk_gate_made-up").status_code == 401


def test_the_answer_cannot_be_taken_back_afterwards(
    caller: AgentClient, alice: User, answer: Answer
) -> None:
    delivery = delivered(caller)
    answer(delivery)

    get(caller, delivery.pk)

    with pytest.raises(PickedUp):
        take_back(delivery, by=alice, at=database_now())


def test_a_rule_is_named_by_its_id_and_version(
    caller: AgentClient, make_answering_rule: MakeAnsweringRule
) -> None:
    rule = make_answering_rule(on=True)
    delivery = delivered(caller)
    run_rules(at=database_now())
    release_due(at=database_now() + timedelta(hours=1))

    receipt = get(caller, delivery.pk).content.decode()

    claims = verified(receipt)
    assert (claims["decided_by"], claims["via"]) == ("rule", "rule")
    assert claims["rule"] == {"id": str(rule.pk), "version": 1}
    assert Receipt.objects.get().person_disclosure == ""


def test_a_rotated_key_verifies_earlier_receipts(caller: AgentClient, answer: Answer) -> None:
    first, second = delivered(caller), delivered(caller)
    answer(first)
    answer(second)
    before = get(caller, first.pk).content.decode()

    call_command("rotate_receipt_key", stdout=io.StringIO())

    after = get(caller, second.pk).content.decode()
    assert header_of(before)["kid"] != header_of(after)["kid"]
    assert verified(before)["status"] == verified(after)["status"] == "approved"
    assert get(caller, first.pk).content.decode() == before


@pytest.mark.slow
def test_javascript_verifies_it_too(
    caller: AgentClient, alice: User, bob: User, answer: Answer
) -> None:
    delivery = delivered(caller, quorum=2)
    at = database_now()
    given: Any = {"content_hash": delivery.content_hash, "at": at, "feedback": "Zoë, today."}
    respond(delivery, by=bob, status="approved", **given)
    answer(delivery)
    get(caller, delivery.pk)
    row = Receipt.objects.get()
    whole, bare = receipts.for_people(row), receipts.for_gate(row)
    head, payload, signature = row.jwt.split(".")
    forged = f"{head}.{payload[:-8]}{payload[-8:][::-1]}.{signature}~"

    disclosed, hidden, refused = verified_by_javascript(whole, bare, forged)

    assert disclosed["header"]["typ"] == "wake-receipt+sd-jwt"
    assert disclosed["payload"] == verified(whole)
    assert disclosed["payload"]["person"]["name"] == alice.display_name
    assert hidden["payload"] == verified(bare)
    assert "error" in refused
