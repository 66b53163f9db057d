"""The SDK withdraws deliveries, and stops waiting for withdrawn ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import wake_client
from tests.client.test_sdk import ID, PENDING, Server, error, ok


def test_a_withdrawal_says_when_and_why() -> None:
    body = {"delivery_id": ID, "withdrawn_at": "2026-03-07T09:00:00Z", "reason": "Painted."}
    server = Server(ok(body))

    withdrawal = server.client().withdraw(ID, "Painted.")

    assert (withdrawal.delivery_id, withdrawal.reason) == (ID, "Painted.")
    assert server.requests[0].url.path == f"/wake/v1/withdraw/{ID}"


def test_a_withdrawal_that_comes_too_late() -> None:
    with pytest.raises(wake_client.AlreadyAnswered):
        Server(error(409, "already_answered")).client().withdraw(ID)


def test_it_stops_waiting_when_the_delivery_is_withdrawn() -> None:
    """The client used to wait for ever, because the status stayed `pending`."""
    withdrawn = {**PENDING, "withdrawn_at": "2026-03-07T09:00:00Z"}
    server = Server(ok(PENDING), ok(withdrawn), takes=25)

    answer = server.client().wait(ID, must_wait=True)

    assert (answer.status, answer.is_withdrawn) == ("pending", True)
    assert answer.withdrawn_at == datetime(2026, 3, 7, 9, tzinfo=UTC)
