"""A process remembers who calls which agent, and a change counts at once
(docs/decisions/0059-the-usual-message-remembers-its-caller.md)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, Team
from database.clock import database_now
from relay.cards import caller_cache, callers
from relay.cards.publishing import publish, unpublish
from relay.models import CallerKey, Card, Task
from tests.relay.calling import Caller

Change = Callable[[Card, CallerKey], object]
AT_ONCE = pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL")


@pytest.fixture(autouse=True)
def forgotten() -> None:
    caller_cache._entries.clear()


def a_send(caller: Caller) -> dict[str, Any]:
    params = caller.sending() | {"configuration": {"returnImmediately": True}}
    return {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}


@AT_ONCE
def test_the_next_message_is_one_statement(newer: Caller, django_assert_num_queries: Any) -> None:
    newer.send("Compare the ten largest.")

    with django_assert_num_queries(1):
        sent = newer.post(a_send(newer)).json()

    assert Task.objects.count() == 2
    assert sent["result"]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"


def unpublished(card: Card, _: CallerKey) -> None:
    unpublish(card, by=SYSTEM, at=timezone.now())


def archived(card: Card, _: CallerKey) -> None:
    now = timezone.now()
    Agent.objects.filter(pk=card.agent_id).update(paused_at=now, archived_at=now)


def renamed_team(card: Card, _: CallerKey) -> None:
    Team.objects.filter(pk=card.agent.team_id).update(slug="orchard")


def revoked(_: Card, key: CallerKey) -> None:
    callers.revoke(key, by=SYSTEM, at=timezone.now())


def expired(_: Card, key: CallerKey) -> None:
    CallerKey.objects.filter(pk=key.pk).update(expires_at=database_now() - timedelta(seconds=1))


def for_others(card: Card, _: CallerKey) -> None:
    other, _text = callers.mint(card.agent.team, name="Another", by=SYSTEM)
    publish(card.agent, by=SYSTEM, at=timezone.now(), access=Card.Access.ALLOWLIST, callers=[other])


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (unpublished, 404),
        (archived, 404),
        (renamed_team, 404),
        (revoked, 401),
        (expired, 401),
        (for_others, 403),
    ],
)
def test_what_has_changed_counts_at_once(
    newer: Caller, card: Card, caller_key: CallerKey, change: Change, status: int
) -> None:
    newer.send("Compare the ten largest.")

    change(card, caller_key)
    refused = newer.post(a_send(newer))

    assert refused.status_code == status
    assert Task.objects.count() == 1


def test_a_card_that_takes_more_takes_it_at_once(newer: Caller, card: Card) -> None:
    """The cached card would refuse this caller."""
    publish(card.agent, by=SYSTEM, at=timezone.now(), input_modes=["application/json"])
    data = newer.message() | {"parts": [{"data": {"rows": 3}}]}
    newer.result("SendMessage", {"message": data})
    assert newer.error("SendMessage", newer.sending())["code"] == -32005

    publish(card.agent, by=SYSTEM, at=timezone.now(), input_modes=["text/plain"])

    assert newer.send()["status"]["state"] == "TASK_STATE_SUBMITTED"


def test_each_message_counts_once(newer: Caller, settings: Any) -> None:
    settings.WAKE_READS_PER_MINUTE = 3

    for number in range(3):
        newer.send(f"Message {number}")
    refused = newer.post(a_send(newer))

    assert refused.status_code == 429
    assert Task.objects.count() == 3


def test_a_message_that_two_ways_look_at_counts_once(
    newer: Caller, card: Card, settings: Any
) -> None:
    """A message used to be counted twice if the single statement for usual messages could not store
    it."""
    settings.WAKE_READS_PER_MINUTE = 4

    statuses = []
    for _ in range(5):
        statuses.append(newer.post(a_send(newer)).status_code)
        Card.objects.filter(pk=card.pk).update(updated_at=timezone.now())  # as another process does

    assert statuses == [200, 200, 200, 200, 429]


@AT_ONCE
def test_a_caller_is_forgotten_after_a_minute(
    newer: Caller, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    newer.send("Compare the ten largest.")
    monkeypatch.setattr(caller_cache, "SECONDS", 0)  # a minute later

    with django_assert_num_queries(3):  # reads the card and the key once more
        newer.post(a_send(newer))
