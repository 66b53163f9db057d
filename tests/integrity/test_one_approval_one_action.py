"""One approval is for one action. An MCP call that equals an earlier call gets the earlier answer
only until that answer was picked up. The call then also says that the answer is an earlier one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import ApiKey
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer
from tests.wake.mcp.client import HANDSHAKE, McpClient
from wake.mcp.wording import EARLIER_ANSWER, EARLIER_REQUEST, ONCE, READ_BEFORE
from wake.models import Delivery

PAYMENT = {"headline": "Pay 500 EUR to Harbour Print", "summary": "It is due today."}


@pytest.fixture
def mcp(key: ApiKey) -> McpClient:
    return McpClient(key.text)  # type: ignore[attr-defined]


def text_of(result: Any) -> str:
    return str(result["content"][0]["text"])


def approved_before(mcp: McpClient, answer: Answer) -> str:
    """Returns the id of a question. The call that asked the question had returned before the answer
    came."""
    delivery_id: str = mcp.structured("ask", **PAYMENT, wait_seconds=0)["delivery_id"]
    answer(delivery_id, "approved")
    return delivery_id


def test_a_call_that_lost_its_response_gets_the_same_question(mcp: McpClient) -> None:
    first = mcp.structured("ask", **PAYMENT, wait_seconds=0)

    again = mcp.call("ask", **PAYMENT, wait_seconds=0)

    assert again["structuredContent"]["delivery_id"] == first["delivery_id"]
    assert EARLIER_REQUEST in text_of(again)
    assert Delivery.objects.count() == 1


def test_the_answer_to_an_earlier_request_says_that_it_is_one(
    mcp: McpClient, answer: Answer
) -> None:
    delivery_id = approved_before(mcp, answer)

    result = mcp.call("ask", **PAYMENT, wait_seconds=0)

    assert result["structuredContent"]["delivery_id"] == delivery_id
    assert EARLIER_ANSWER in text_of(result)
    assert ONCE in text_of(result)


@pytest.mark.parametrize("route", ["ask", "check", "answers", "poll", "sweep", "task"])
def test_after_its_pick_up_an_approval_is_for_no_other_call(
    route: str, mcp: McpClient, key: ApiKey, caller: AgentClient, answer: Answer
) -> None:
    delivery_id = approved_before(mcp, answer)
    tasks = McpClient(key.text, takes_tasks=True)  # type: ignore[attr-defined]
    reads: dict[str, Callable[[], Any]] = {
        "ask": lambda: mcp.call("ask", **PAYMENT, wait_seconds=0),
        "check": lambda: mcp.call("check", delivery_id=delivery_id),
        "answers": lambda: mcp.call("answers"),
        "poll": lambda: caller.poll(delivery_id),
        "sweep": caller.sweep,
        "task": lambda: tasks.result("tasks/get", {"taskId": delivery_id}),
    }
    reads[route]()

    result = mcp.call("ask", **PAYMENT, wait_seconds=0)

    assert result["structuredContent"]["delivery_id"] != delivery_id
    assert result["structuredContent"]["status"] == "pending"
    assert "earlier request" not in text_of(result)


def test_what_is_irreversible_is_asked_about_each_time(mcp: McpClient, answer: Answer) -> None:
    first = mcp.structured("ask", **PAYMENT, irreversible=True, wait_seconds=0)
    answer(first["delivery_id"], "approved")

    second = mcp.structured("ask", **PAYMENT, irreversible=True, wait_seconds=0)

    assert second["delivery_id"] != first["delivery_id"]
    assert second["status"] == "pending"


def test_a_task_of_an_equal_call_is_not_an_approval_either(key: ApiKey, answer: Answer) -> None:
    tasks = McpClient(key.text, takes_tasks=True)  # type: ignore[attr-defined]
    first = tasks.call("ask", **PAYMENT)
    again = tasks.call("ask", **PAYMENT)
    answer(first["taskId"], "approved")
    tasks.result("tasks/get", {"taskId": first["taskId"]})

    third = tasks.call("ask", **PAYMENT)

    assert again["taskId"] == first["taskId"]
    assert again["statusMessage"].startswith(EARLIER_REQUEST)
    assert third["taskId"] != first["taskId"]
    assert third["status"] == "working"


def test_an_equal_delivery_is_new_after_its_answer(mcp: McpClient, answer: Answer) -> None:
    proposal = {"type": "output", **PAYMENT}
    first = mcp.structured("deliver", **proposal)["delivery_id"]
    repeated = mcp.call("deliver", **proposal)
    answer(first, "approved")
    mcp.call("check", delivery_id=first)

    again = mcp.structured("deliver", **proposal)["delivery_id"]

    assert repeated["structuredContent"]["delivery_id"] == first
    assert EARLIER_REQUEST in text_of(repeated)
    assert again != first


def test_an_answer_that_was_read_before_says_so(mcp: McpClient, answer: Answer) -> None:
    """A later session begins by calling `answers`, and would act again on all approvals in the
    result."""
    delivery_id = approved_before(mcp, answer)

    first, second = mcp.call("answers"), mcp.call("answers")
    third = mcp.call("check", delivery_id=delivery_id)

    assert READ_BEFORE not in text_of(first)
    for result in (second, third):
        assert READ_BEFORE in text_of(result)
        assert ONCE in text_of(result)


@pytest.mark.parametrize("other", ["0.30000000000000000001", "300000000000000000001.0"])
def test_an_approval_is_not_for_an_amount_that_is_the_same_float(
    other: str, mcp: McpClient
) -> None:
    amounts = ("0.3", "300000000000000000000.0", other)

    assert len({asked_about(amount, mcp) for amount in amounts}) == 3


@pytest.mark.parametrize("amount", ["1180.00", "0.30000000000000000001", "300000000000000000001.5"])
def test_an_amount_beside_options_keeps_its_digits(amount: str, mcp: McpClient) -> None:
    """People used to approve 1180.0 and 300000000000000000000, which were not the digits of the
    agent."""
    delivery_id = asked_about(amount, mcp, options=["Yes", "No"])

    assert f'"amount":{amount}' in str(Delivery.objects.get(pk=delivery_id).details_json)


def asked_about(amount: str, mcp: McpClient, **arguments: Any) -> str:
    """Asks a question whose details have this amount, with the digits unchanged. Returns its id."""
    given = {**PAYMENT, "wait_seconds": 0, "details": "AMOUNT", **arguments}
    call = {"name": "ask", "arguments": given}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    body = json.dumps(sent).replace('"AMOUNT"', f'{{"amount": {amount}}}')
    version = McpClient(mcp.key, version=HANDSHAKE)
    answer = version.post(body, **{"Mcp-Protocol-Version": HANDSHAKE}).json()
    return str(answer["result"]["structuredContent"]["delivery_id"])
