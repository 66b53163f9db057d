"""An agent's own limit holds for concurrent deliveries."""

from __future__ import annotations

from collections import Counter

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.agents import hourly_limits
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent
from tests.fixtures.agent_client import AgentClient
from tests.stress.concurrency.threads import at_once, retried
from wake.models import Delivery


def test_a_limit_is_exact_across_threads(caller: AgentClient, agent: Agent) -> None:
    hourly_limits.set_limit(agent, 3, by=SYSTEM, at=timezone.now())

    codes = at_once(*[lambda: retried(lambda: caller.post(caller.payload())).status_code] * 20)

    assert Counter(codes) == {201: 3, 429: 17}
    assert Delivery.objects.count() == 3


@pytest.mark.skipif(not settings.DATABASE_URL, reason="about locks of rows")
def test_a_limit_reads_what_keys_have_spent_under_their_locks(agent: Agent, key: ApiKey) -> None:
    """An upload locks only the key. So if the limit's change had read the quota before, it would
    overwrite the upload's change."""
    ApiKey.objects.filter(pk=key.pk).update(quota_us=2**62)

    with CaptureQueriesContext(connection) as queries:
        hourly_limits.set_limit(agent, 3, by=SYSTEM, at=timezone.now())

    (read,) = [
        each["sql"] for each in queries if each["sql"].startswith('SELECT "accounts_apikey"')
    ]
    assert read.endswith("FOR UPDATE")


def test_a_limit_that_changes_during_a_delivery_does_not_deadlock(
    caller: AgentClient, agent: Agent
) -> None:
    def lower() -> int:
        hourly_limits.set_limit(agent, 1, by=SYSTEM, at=timezone.now())
        return 0

    codes = at_once(
        lower, *[lambda: retried(lambda: caller.post(caller.payload())).status_code] * 20
    )

    assert set(codes) <= {0, 201, 429}
    assert AuditEvent.objects.filter(event="agent.limited").count() == 1
    assert retried(lambda: caller.post(caller.payload())).status_code in {201, 429}
    assert retried(lambda: caller.post(caller.payload())).status_code == 429
