"""The admin changes an agent's own limit by the same rules and records the same event."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Agent, AuditEvent, User
from tests.fixtures.strict_client import Client

NO_CLAIMS = {"claimed_ids-TOTAL_FORMS": "0", "claimed_ids-INITIAL_FORMS": "0"}


def save(operator: Client, agent: Agent, hourly: str) -> Any:
    url = reverse("admin:accounts_agent_change", args=[agent.pk])
    return operator.post(url, {"hourly_limit": hourly, **NO_CLAIMS})


def test_a_limit_is_lowered_and_removed(operator: Client, olga: User, agent: Agent) -> None:
    for hourly in ("10", "10", ""):
        assert save(operator, agent, hourly).status_code == 302

    agent.refresh_from_db()
    assert agent.hourly_limit is None
    events = AuditEvent.objects.filter(actor_id=str(olga.pk), team_id=agent.team_id).order_by("pk")
    assert [(event.event, event.detail) for event in events] == [
        ("agent.limited", {"an_hour": 10}),
        ("agent.limited", {"an_hour": None}),
    ]


@pytest.mark.parametrize(
    ("hourly", "words"),
    [("0", "To stop all deliveries, pause the agent"), ("500", "allows a key 500 an hour")],
)
def test_a_limit_that_lowers_nothing_is_refused(
    operator: Client, agent: Agent, hourly: str, words: str
) -> None:
    page = save(operator, agent, hourly)

    assert words in page.content.decode()
    agent.refresh_from_db()
    assert agent.hourly_limit is None


def test_saving_the_page_writes_nothing_else(operator: Client, agent: Agent) -> None:
    """A page that saved every column would write old values back. The agent's newest cursor stamp
    would then be lost."""
    with CaptureQueriesContext(connection) as asked:
        save(operator, agent, "10")

    written = [each["sql"] for each in asked if each["sql"].startswith('UPDATE "accounts_agent"')]
    assert len(written) == 1
    assert "activity_us" not in written[0]
