"""A tool returns the signed receipt of an answer if the agent asked for it."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from accounts.models import ApiKey
from database.encrypted_columns import Ciphertext
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer
from tests.wake.mcp.client import McpClient
from tests.wake.proof.test_receipts import verified
from wake.mcp.tools import TOOLS
from wake.models import Claim, Receipt
from wake.proof import receipt_keys

pytestmark = pytest.mark.django_db
PAYMENT = {"headline": "Pay 500 EUR to Harbour Print", "summary": "It is due today."}


def text_of(result: Any) -> str:
    return str(result["content"][0]["text"])


def fetched(caller: AgentClient, delivery_id: str) -> str:
    answer = caller.client.get(f"/wake/v1/receipt/{delivery_id}", headers=caller.headers)
    assert answer.status_code == 200
    return str(answer.content.decode())


@pytest.mark.parametrize("tool", ["ask", "deliver"])
def test_a_delivery_that_asks_for_it(
    tool: str, either: McpClient, caller: AgentClient, answer: Answer
) -> None:
    more = {"type": "output"} if tool == "deliver" else {"wait_seconds": 0}
    told = either.structured(tool, **PAYMENT, **more, receipt=True)
    before = either.structured("check", delivery_id=told["delivery_id"])
    answer(told["delivery_id"], "approved")

    result = either.call("check", delivery_id=told["delivery_id"])

    receipt = result["structuredContent"]["receipt"]
    assert "receipt" not in {**told, **before}
    assert receipt == fetched(caller, told["delivery_id"])
    assert verified(receipt)["status"] == "approved"
    assert f"receipt: {receipt}" in text_of(result)
    jsonschema.validate(result["structuredContent"], TOOLS["check"].returns)


@pytest.mark.parametrize("status", ["approved", "rejected"])
def test_a_check_that_asks_for_it(status: str, mcp: McpClient, answer: Answer) -> None:
    delivery_id = mcp.structured("ask", **PAYMENT, wait_seconds=0)["delivery_id"]
    pending = mcp.structured("check", delivery_id=delivery_id, receipt=True)
    answer(delivery_id, status)

    plain = mcp.structured("check", delivery_id=delivery_id)
    declined = mcp.structured("check", delivery_id=delivery_id, receipt=False)
    assert not Receipt.objects.exists()
    asked = mcp.structured("check", delivery_id=delivery_id, receipt=True)

    assert "receipt" not in {**pending, **plain, **declined}
    assert verified(asked["receipt"])["status"] == status


def test_an_equal_question_returns_it_with_the_answer(mcp: McpClient, answer: Answer) -> None:
    question = {**PAYMENT, "wait_seconds": 0, "receipt": True, "idempotency_key": "k"}
    answer(mcp.structured("ask", **question)["delivery_id"], "approved")

    asked = mcp.structured("ask", **question)

    assert verified(asked["receipt"])["status"] == "approved"
    jsonschema.validate(asked, TOOLS["ask"].returns)


def test_the_receipt_of_a_used_approval_says_when_it_was_used(
    mcp: McpClient, answer: Answer
) -> None:
    asked = mcp.structured("ask", **PAYMENT, wait_seconds=0)
    answer(asked["delivery_id"], "approved")

    call = {"delivery_id": asked["delivery_id"], "claim": asked["digest"], "receipt": True}
    used = mcp.structured("check", **call)

    claim = Claim.objects.get()
    assert used["claim"]["claim_id"] == str(claim.pk)
    assert verified(used["receipt"])["claimed_at"] == used["claim"]["claimed_at"]


def test_the_result_of_a_task_has_it(key: ApiKey, answer: Answer) -> None:
    tasks = McpClient(key.text, takes_tasks=True)  # type: ignore[attr-defined]
    task_id = tasks.call("ask", **PAYMENT, receipt=True)["taskId"]
    answer(task_id, "approved")

    result = tasks.result("tasks/get", {"taskId": task_id})["result"]

    assert verified(result["structuredContent"]["receipt"])["status"] == "approved"


def test_an_answer_does_not_wait_for_the_signing_key(mcp: McpClient, answer: Answer) -> None:
    key = receipt_keys.current_key()
    vars(key)["private_key"] = Ciphertext("of a lost key")
    key.save(update_fields=["private_key"])
    asked = mcp.structured("ask", **PAYMENT, wait_seconds=0, receipt=True)
    answer(asked["delivery_id"], "approved")

    result = mcp.call("check", delivery_id=asked["delivery_id"], claim=asked["digest"])

    assert result["structuredContent"]["claim"]["claim_id"] == str(Claim.objects.get().pk)
    assert result["structuredContent"]["receipt"] is None
    assert "Nothing is lost: call check with receipt later." in text_of(result)
    jsonschema.validate(result["structuredContent"], TOOLS["check"].returns)


@pytest.mark.parametrize("receipt", ["yes", 1])
def test_only_true_and_false_are_taken(receipt: Any, mcp: McpClient) -> None:
    delivery_id = mcp.structured("ask", **PAYMENT, wait_seconds=0)["delivery_id"]

    for tool, arguments in (("ask", PAYMENT), ("check", {"delivery_id": delivery_id})):
        failure = mcp.failure(tool, **arguments, receipt=receipt)
        assert failure.startswith("invalid_field: receipt: Must be")
