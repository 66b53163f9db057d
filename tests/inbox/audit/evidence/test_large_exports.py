"""An evidence export of many or long deliveries needs little memory and few queries."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Agent, AuditEvent
from inbox.audit.evidence import scope, summary
from inbox.audit.evidence.scope import TooManyDeliveries
from tests.inbox.audit.evidence.opened import evidence_of, files_of
from tests.types import MakeDelivery

pytestmark = pytest.mark.django_db


def test_a_long_text_is_in_the_record_and_counted_on_the_page(
    make_delivery: MakeDelivery, agent: Agent
) -> None:
    text = "x" * (summary.LONGEST_TEXT + 500)
    delivery = make_delivery(details_json=json.dumps(text))

    opened = evidence_of(agent)

    assert text in opened.record(delivery.pk)["content"]["details"]
    assert text not in opened.text("summary.html")
    assert "more characters are in" in opened.text("summary.html")


def test_more_deliveries_than_the_limit_are_refused(
    make_delivery: MakeDelivery, agent: Agent
) -> None:
    for _ in range(3):
        make_delivery()

    with pytest.raises(TooManyDeliveries, match="more than 2 deliveries"):
        evidence_of(agent, limit=2)

    assert not AuditEvent.objects.filter(event="evidence.exported").exists()
    assert evidence_of(agent, limit=3).json("manifest.json")["counts"]["deliveries"] == 3


def test_the_queries_do_not_grow_with_a_batch(make_delivery: MakeDelivery, agent: Agent) -> None:
    def queries(count: int) -> int:
        for _ in range(count):
            make_delivery()
        with CaptureQueriesContext(connection) as captured:
            evidence_of(agent)
        return len(captured)

    assert queries(2) == queries(scope.AT_ONCE - 2)


def test_memory_does_not_grow_with_the_deliveries(
    make_delivery: MakeDelivery, agent: Agent
) -> None:
    for _ in range(60):
        make_delivery(details_json=json.dumps("d" * 150_000))
    size = 0

    tracemalloc.start()
    try:
        for file in files_of(agent):
            size += sum(len(part) for part in file.parts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert size > 60 * 2 * 150_000
    assert peak < 12_000_000
