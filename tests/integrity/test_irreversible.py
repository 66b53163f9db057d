"""No irreversible action is taken because a deadline has passed."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from accounts.models import ApiKey
from relay.models import Task
from relay.runs.results import read_result
from tests.client.test_sdk import PENDING, RECEIPT, Server, ok
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.spec.delivering.test_batch import send
from tests.wake.mcp.client import McpClient
from wake.models import Delivery


@pytest.mark.parametrize("given", [{}, {"on_timeout": None}, {"on_timeout": "hold"}])
@pytest.mark.parametrize("window", [{}, {"timeout_seconds": 3600, "assumption": "I pay."}])
def test_it_waits_unless_the_agent_says_more(
    given: dict[str, Any], window: dict[str, Any], caller: AgentClient
) -> None:
    answer = caller.post(caller.payload(irreversible=True, **given, **window))

    assert answer.status_code == 201
    delivery = Delivery.objects.get()
    assert delivery.on_timeout == "hold"
    is_said = given.get("on_timeout") == "hold"
    assert answer.json().get("on_timeout") == (None if is_said else "hold")


def test_it_may_be_given_up(caller: AgentClient) -> None:
    caller.post(caller.payload(irreversible=True, timeout_seconds=60, on_timeout="abort"))

    assert Delivery.objects.get().on_timeout == "abort"


def test_it_may_not_go_ahead(caller: AgentClient) -> None:
    answer = caller.post(
        caller.payload(irreversible=True, timeout_seconds=60, on_timeout="proceed")
    )

    error = answer.json()["error"]
    (field,) = error["fields"]
    assert (answer.status_code, error["code"]) == (422, "invalid_field")
    assert (field["field"], field["code"]) == ("on_timeout", "irreversible")
    assert "cannot go ahead without an answer" in field["message"]
    assert not Delivery.objects.exists()


def test_it_may_not_go_ahead_in_a_batch(caller: AgentClient) -> None:
    answer = send(caller, caller.payload(irreversible=True, on_timeout="proceed"))

    (result,) = answer.json()["results"]
    assert result["status_code"] == 422
    assert result["body"]["error"]["fields"][0]["code"] == "irreversible"


def test_a_retry_gets_the_same_receipt(caller: AgentClient) -> None:
    payload = caller.payload(irreversible=True, timeout_seconds=60)

    first, again = (caller.post(payload, **{"Idempotency-Key": "pay-7"}) for _ in range(2))

    assert again.headers["Idempotency-Replayed"] == "true"
    assert first.json() == again.json()
    assert first.json()["on_timeout"] == "hold"


def test_a_model_is_told_that_it_waits(key: ApiKey) -> None:
    mcp = McpClient(key.text)  # type: ignore[attr-defined]
    payment = {"headline": "Pay 500 EUR", "summary": "It is due.", "irreversible": True}

    asked = mcp.call(
        "ask", **payment, timeout_seconds=60, assumption="I pay it.", wait_seconds=0
    )["content"][0]["text"]  # fmt: skip
    refused = mcp.failure("ask", **payment, on_timeout="proceed")

    assert "cannot be undone, so you wait for the answer, also after the deadline" in asked
    assert "I pay it." not in asked
    assert Delivery.objects.get().on_timeout == "hold"
    assert "on_timeout" in refused


def test_a_question_over_a2a_may_not_go_ahead() -> None:
    given = {"state": "input_required", "text": "Pay?", "irreversible": True}

    refused = read_result({**given, "timeout_seconds": 60, "on_timeout": "proceed"})
    asked = read_result({**given, "timeout_seconds": 60})

    assert refused.state == Task.State.FAILED
    assert "cannot go ahead without an answer" in refused.parts[0]["text"]
    assert asked.state == Task.State.INPUT_REQUIRED


def test_the_client_waits_beyond_the_deadline() -> None:
    server = Server(
        ok({**RECEIPT, "on_timeout": "hold"}, 201),
        ok({**PENDING, "expired": True}),
        ok({**PENDING, "status": "approved", "responded_at": "2026-03-07T09:00:00Z"}),
        takes=20,
    )

    answer = server.client().ask("Pay 500 EUR", "It is due.", irreversible=True, timeout_seconds=60)

    assert answer.status == "approved"


def test_the_documents_of_the_server_say_so(client: Client) -> None:
    schema = client.get("/wake/v1/schema.json").json()
    validator = Draft202012Validator({"$ref": "#/$defs/delivery", **schema})
    sent = {"agent_id": "a", "provider": "p", "type": "question", "headline": "h", "summary": "s"}

    assert validator.is_valid({**sent, "irreversible": True})
    assert validator.is_valid({**sent, "irreversible": False, "on_timeout": "proceed"})
    assert not validator.is_valid({**sent, "irreversible": True, "on_timeout": "proceed"})
