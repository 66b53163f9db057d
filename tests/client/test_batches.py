"""A batch of the SDK is one request, with a result or an error for each delivery."""

from __future__ import annotations

import json
from typing import Any

import pytest

import wake_client
from tests.client.test_sdk import RECEIPT, Server, error, ok
from wake_client import Receipt

DELIVERIES: list[wake_client.Unsent] = [
    {"type": "output", "headline": "One", "summary": "The first.", "details": None},
    {"type": "update", "headline": "Two", "summary": "The next.", "idempotency_key": "two"},
]


def result(status: int, body: Any, retry_after: int | None = None) -> dict[str, Any]:
    return {"status_code": status, "body": body, "replayed": False, "retry_after": retry_after}


def test_many_deliveries_are_one_request_with_a_result_each() -> None:
    refused = {"error": {"code": "rate_limited", "message": "No."}}
    results = {"results": [result(201, RECEIPT), result(429, refused, 7)]}
    server = Server(error(503, "unavailable"), ok(results))

    receipt, failure = server.client().deliver_many(DELIVERIES)

    first, again = (json.loads(request.content) for request in server.requests)
    assert first == again
    assert first["deliveries"][0].keys() == {
        "agent_id", "provider", "type", "headline", "summary", "idempotency_key",
    }  # fmt: skip
    assert first["deliveries"][1]["idempotency_key"] == "two"
    assert first["atomic"] is False
    assert isinstance(receipt, Receipt)
    assert isinstance(failure, wake_client.TooManyRequests)
    assert failure.retry_after == 7


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"results": None},
        {"results": [result(201, RECEIPT)]},
        {"results": [result(201, {}), result(201, RECEIPT)]},
        {"results": [result(422, {}), result(201, RECEIPT)]},
        [],
    ],
)
def test_another_answer_to_a_batch_is_no_wake(body: Any) -> None:
    with pytest.raises(wake_client.NotWake):
        Server(ok(body)).client().deliver_many(DELIVERIES)


def test_a_batch_that_is_refused_whole_raises() -> None:
    with pytest.raises(wake_client.NotAccepted):
        Server(error(422, "invalid_field")).client().deliver_many(DELIVERIES, atomic=True)
