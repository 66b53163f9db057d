"""People change while deliveries share their assignment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.agents import keys
from accounts.models import ApiKey, Membership, User
from tests.stress.concurrency.threads import at_once
from tests.types import MakeRule
from wake.assignment.assigned import assigned_to
from wake.deliveries import deliver

pytestmark = pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL")


@pytest.fixture
def people(key: ApiKey) -> Callable[[], list[str]]:
    """Delivers, and returns the people to whom it is assigned."""
    fields: Any = {"agent_id": key.agent.agent_id, "provider": "claude", "type": "output"}
    fields |= {"headline": "Report", "summary": "Ready."}

    def delivered() -> list[str]:
        at = timezone.now()
        known = keys.look_up_again(key, at=at)
        pk = deliver(known.agent, key=known, at=at, **fields).delivery.pk
        return [person.name for person in assigned_to([pk])[pk].people]

    return delivered


def test_a_change_that_is_not_committed_yet_ends_what_is_made_meanwhile(
    people: Callable[[], list[str]], make_rule: MakeRule, bob: User
) -> None:
    make_rule(role="reviewer")
    changed = threading.Event()

    def changing() -> None:
        with transaction.atomic():
            Membership.objects.filter(user=bob).update(role="reader")
            changed.set()
            time.sleep(0.5)

    def delivering() -> None:
        changed.wait(10)
        people()

    at_once(changing, delivering)

    assert people() == []


def test_a_delivery_after_a_change_has_the_people_after_it(
    people: Callable[[], list[str]], make_rule: MakeRule, alice: User, bob: User
) -> None:
    """Other deliveries make the shared assignment all the time, also while a change commits."""
    make_rule(role="reviewer")

    def delivering() -> list[str]:
        for _ in range(12):
            assert people() in ([], ["bob"])
        return []

    def changing() -> list[str]:
        wrong = []
        for number in range(10):
            role, expected = [("reader", []), ("reviewer", ["bob"])][number % 2]
            Membership.objects.filter(user=bob).update(role=role)
            wrong += [f"{role}: {got}" for got in (people(), people()) if got != expected]
        return wrong

    assert at_once(changing, delivering, delivering)[0] == []
