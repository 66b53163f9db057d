"""An answer of the server matches its receipt, and each member that is not compared is named."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.audit import person
from accounts.models import User
from accounts.people.data import removal
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.answering_rules import run_rules
from tests.types import Answer, MakeAnsweringRule
from wake.models import Delivery
from wake.proof import receipt_keys
from wake.responses import release_due, respond
from wake_client.proof.receipts import check_answer, verified

pytestmark = pytest.mark.django_db

REST = ["expires_at", "expired", "erased"]


def delivered(caller: AgentClient, **fields: Any) -> Delivery:
    receipt = caller.post(caller.payload(type="question", digest=True, **fields)).json()
    return Delivery.objects.get(pk=receipt["delivery_id"])


def not_compared(caller: AgentClient, delivery: Delivery) -> list[str]:
    """Compares the answer that the agent gets with the receipt that it gets."""
    receipt = caller.get(f"receipt/{delivery.pk}").content.decode()
    claims = verified(receipt, receipt_keys.key_set())
    return check_answer(claims, caller.get(f"response/{delivery.pk}").content.decode())


def test_the_answer_of_one_person(caller: AgentClient, answer: Answer) -> None:
    delivery = delivered(caller)
    answer(delivery, status="redirected", feedback="Zoë only.", edited_json='{"amount": 1.50}')

    assert not_compared(caller, delivery) == [*REST, "nonce"]


def test_the_answer_of_several_people(caller: AgentClient, bob: User, answer: Answer) -> None:
    delivery = delivered(caller, quorum=2)
    given: Any = {"content_hash": delivery.content_hash, "at": database_now()}
    respond(delivery, by=bob, status="approved", **given)
    answer(delivery)

    assert not_compared(caller, delivery) == [*REST, "nonce"]

    removal.remove(bob, by=person(bob), at=database_now())
    assert not_compared(caller, delivery) == [*REST, "decisions", "nonce"]


def test_the_answer_of_a_rule(caller: AgentClient, make_answering_rule: MakeAnsweringRule) -> None:
    make_answering_rule(on=True)
    delivery = delivered(caller)
    run_rules(at=database_now())
    release_due(at=database_now() + timedelta(hours=1))

    assert not_compared(caller, delivery) == [*REST, "nonce"]
