"""A batch that replaces two versions locks them in the order in which a claim locks them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from tests.fixtures.agent_client import AgentClient
from tests.stress.concurrency.threads import wait_for_a_lock
from wake.models import Delivery

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time"),
]


def test_a_batch_and_a_claim_cannot_wait_for_each_other(caller: AgentClient) -> None:
    first, last = sorted(caller.deliver() for _ in range(2))
    rows = Delivery.objects.select_for_update(of=("self",), nowait=True)

    def replace_both() -> Any:
        deliveries = [caller.payload(supersedes=pk) for pk in (last, first)]
        body = json.dumps({"deliveries": deliveries, "atomic": True})
        headers = {**caller.headers, "Idempotency-Key": "batch"}
        try:
            return caller.client.post(
                "/wake/v1/deliveries", body, content_type="application/json", headers=headers
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            rows.get(pk=first)
            replacing = threads.submit(replace_both)
            wait_for_a_lock()
            rows.get(pk=last)  # raises OperationalError if the batch has locked this version
        answer = replacing.result(30)

    assert [each["status_code"] for each in answer.json()["results"]] == [201, 201]
    assert Delivery.objects.filter(superseded_at__isnull=False).count() == 2
