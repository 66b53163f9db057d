"""A model uses an approval once with `check`, and says what came of it with `report`."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from accounts.models import ApiKey
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer
from tests.wake.mcp.client import McpClient
from wake.mcp.same_calls import SAME_CALL
from wake.mcp.tools import TOOLS
from wake.mcp.wording import CLAIMED, EARLIER_REPORT, ONCE
from wake.models import Claim, Delivery, Failure, Outcome, Response

pytestmark = pytest.mark.django_db
PAYMENT = {"headline": "Pay 500 EUR to Harbour Print", "summary": "It is due today."}


def text_of(result: Any) -> str:
    return str(result["content"][0]["text"])


def asked(mcp: McpClient, **more: Any) -> tuple[str, str]:
    """Returns the delivery_id and the digest of a question."""
    pending = mcp.structured("ask", **PAYMENT, wait_seconds=0, **more)
    return pending["delivery_id"], pending["digest"]


def test_every_result_has_the_digest_and_the_nonce(either: McpClient, answer: Answer) -> None:
    receipt = either.call("deliver", type="output", **PAYMENT)
    pending = either.call("ask", **PAYMENT, wait_seconds=0)
    delivery_id = pending["structuredContent"]["delivery_id"]
    checked = either.call("check", delivery_id=delivery_id)
    answer(delivery_id, "approved")
    approved = either.call("check", delivery_id=delivery_id)
    swept = either.call("answers")

    row = Delivery.objects.get(pk=delivery_id)
    (of_sweep,) = swept["structuredContent"]["deliveries"]
    for result in (pending, checked, approved):
        assert result["structuredContent"]["digest"] == row.content_hash
        assert result["structuredContent"]["nonce"] == row.nonce
        assert f"digest: {row.content_hash}" in text_of(result)
    assert (of_sweep["digest"], of_sweep["nonce"]) == (row.content_hash, row.nonce)
    assert f"digest: {row.content_hash}" in text_of(swept)
    assert receipt["structuredContent"]["digest"] in text_of(receipt)
    assert list(receipt["structuredContent"])[:3] == ["delivery_id", "status", "created_at"]
    jsonschema.validate(approved["structuredContent"], TOOLS["check"].returns)


def test_a_program_computes_the_same_digest(mcp: McpClient) -> None:
    receipt = mcp.structured("deliver", type="output", **PAYMENT, details={"amount": 500})

    row = Delivery.objects.get()
    content = {
        "agent_id": row.claimed_agent_id, "assumption": None, "details": '{"amount": 500}',
        "files": [], **PAYMENT, "irreversible": False, "nonce": receipt["nonce"],
        "on_timeout": None, "quorum": None, "supersedes": None, "timeout_seconds": None,
        "type": "output",
    }  # fmt: skip
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert receipt["digest"] == hashlib.sha256(text.encode()).hexdigest()


def test_the_digest_of_a_delivery_over_rest_is_there_too(
    mcp: McpClient, caller: AgentClient, answer: Answer
) -> None:
    delivery_id = caller.deliver()
    answer(delivery_id, "approved")

    (swept,) = mcp.structured("answers")["deliveries"]

    row = Delivery.objects.get()
    assert (swept["digest"], swept["nonce"]) == (row.content_hash, row.nonce)
    assert "digest" not in caller.poll(delivery_id)


def test_the_result_of_a_task_has_them(key: ApiKey, answer: Answer) -> None:
    tasks = McpClient(key.text, takes_tasks=True)  # type: ignore[attr-defined]
    task_id = tasks.call("ask", **PAYMENT)["taskId"]
    answer(task_id, "approved")

    result = tasks.result("tasks/get", {"taskId": task_id})["result"]

    row = Delivery.objects.get()
    assert result["structuredContent"]["digest"] == row.content_hash
    assert result["structuredContent"]["nonce"] == row.nonce


@pytest.mark.parametrize("status", ["approved", "redirected"])
def test_an_approval_is_claimed(status: str, either: McpClient, answer: Answer) -> None:
    delivery_id, digest = asked(either)
    answer(delivery_id, status, feedback="On the red account.")

    result = either.call("check", delivery_id=delivery_id, claim=digest)

    claim, structured = Claim.objects.get(), result["structuredContent"]
    assert structured["claim"]["claim_id"] == str(claim.pk)
    assert (structured["claim"]["delivery_id"], structured["claim"]["status"]) == (
        delivery_id,
        status,
    )
    assert CLAIMED in text_of(result)
    assert "On the red account." in text_of(result)
    assert ONCE not in text_of(result)
    jsonschema.validate(structured, TOOLS["check"].returns)


def test_a_second_claim_is_an_error_that_says_so(either: McpClient, answer: Answer) -> None:
    delivery_id, digest = asked(either)
    answer(delivery_id, "approved")
    either.structured("check", delivery_id=delivery_id, claim=digest)

    failure = either.failure("check", delivery_id=delivery_id, claim=digest)

    assert failure.startswith("already_claimed: This approval was used before")
    assert f"claimed_at: {Claim.objects.get().claimed_at:%Y-%m-%dT%H:%M}" in failure


def test_another_digest_is_an_error_that_says_so(mcp: McpClient, answer: Answer) -> None:
    delivery_id, digest = asked(mcp)
    answer(delivery_id, "approved")

    failure = mcp.failure("check", delivery_id=delivery_id, claim=digest[::-1])

    assert failure.startswith("digest_mismatch: The digest is not that of the content")
    assert not Claim.objects.exists()


def test_a_late_claim_is_an_error_that_says_so(mcp: McpClient, answer: Answer) -> None:
    delivery_id, digest = asked(mcp)
    answer(delivery_id, "approved")
    Delivery.objects.update(claim_within_seconds=60)
    Response.objects.update(responded_at=database_now() - timedelta(seconds=61))

    failure = mcp.failure("check", delivery_id=delivery_id, claim=digest)

    assert failure.startswith("approval_expired: This approval was not used within")
    assert not Claim.objects.exists()


@pytest.mark.parametrize("status", ["pending", "rejected"])
def test_without_an_approval_there_is_nothing_to_claim(
    status: str, mcp: McpClient, answer: Answer
) -> None:
    delivery_id, digest = asked(mcp)
    if status != "pending":
        answer(delivery_id, status)

    result = mcp.call("check", delivery_id=delivery_id, claim=digest)

    assert result["structuredContent"]["status"] == status
    assert "claim" not in result["structuredContent"]
    assert CLAIMED not in text_of(result)
    assert not Claim.objects.exists()


@pytest.mark.parametrize("claim", [True, "yes", "A" * 64, 7])
def test_a_claim_without_a_digest_is_refused(claim: Any, mcp: McpClient, answer: Answer) -> None:
    delivery_id, _ = asked(mcp)
    answer(delivery_id, "approved")

    failure = mcp.failure("check", delivery_id=delivery_id, claim=claim)

    assert failure.startswith("invalid_field: claim: Must be the digest")
    assert not Claim.objects.exists()


@pytest.mark.parametrize("status", ["done", "failed", "skipped"])
def test_a_model_reports_what_came_of_it(status: str, either: McpClient) -> None:
    delivery_id, _ = asked(either)

    result = either.call(
        "report", delivery_id=delivery_id, status=status, summary="re_3F", details={"n": 1}
    )

    row = Outcome.objects.get()
    assert (str(row.delivery_id), row.status, row.summary) == (delivery_id, status, "re_3F")
    assert row.details == {"n": 1}
    assert result["structuredContent"]["status"] == status
    jsonschema.validate(result["structuredContent"], TOOLS["report"].returns)


def test_a_repeated_report_is_one_outcome(mcp: McpClient) -> None:
    delivery_id, _ = asked(mcp)
    given = {"delivery_id": delivery_id, "status": "failed", "summary": "No money left."}

    first, second = mcp.call("report", **given), mcp.call("report", **given)

    assert second["structuredContent"] == first["structuredContent"]
    assert EARLIER_REPORT in text_of(second)
    mcp.call("report", **{**given, "status": "done"})
    assert Outcome.objects.count() == 2
    Outcome.objects.update(reported_at=database_now() - SAME_CALL - timedelta(seconds=1))
    mcp.call("report", **given)
    assert Outcome.objects.count() == 3


def test_a_failure_that_returns_is_another_outcome(mcp: McpClient, answer: Answer) -> None:
    delivery_id, _ = asked(mcp)
    answer(delivery_id, "approved")
    given = {"delivery_id": delivery_id, "summary": "Card declined."}
    for status in ("failed", "done"):
        mcp.call("report", **given, status=status)

    again, repeated = [mcp.call("report", **given, status="failed") for _ in range(2)]

    assert EARLIER_REPORT not in text_of(again)
    assert EARLIER_REPORT in text_of(repeated)
    reported = Outcome.objects.order_by("reported_at").values_list("status", flat=True)
    assert list(reported) == ["failed", "done", "failed"]
    assert Failure.objects.get().outcome == Outcome.objects.latest("reported_at")


@pytest.mark.parametrize(
    ("given", "failure"),
    [
        ({"status": "perhaps"}, "invalid_field: status"),
        ({}, "missing_field: status"),
        ({"status": "done", "summary": "two\nlines"}, "invalid_field: summary"),
        ({"status": "done", "more": 1}, "invalid_field: more"),
        ({"status": "done", "delivery_id": "nothing"}, "not_found: "),
    ],
)
def test_a_wrong_report_says_what_is_wrong(given: Any, failure: str, mcp: McpClient) -> None:
    delivery_id, _ = asked(mcp)

    assert mcp.failure("report", **{"delivery_id": delivery_id, **given}).startswith(failure)
    assert not Outcome.objects.exists()
