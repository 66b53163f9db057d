"""A receipt stays valid after its content was erased, and then confirms no guess of the content."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from accounts.audit import person
from accounts.models import Team, User
from accounts.people.data import removal
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.wake.proof.test_receipts import (
    Answer,
    delivered,
    get,
    sha256,
    verified,
)
from wake import retention
from wake.models import Delivery, Receipt
from wake.proof import receipts
from wake.responses import respond

pytestmark = pytest.mark.django_db


def test_after_retention_it_verifies_and_confirms_no_guess(
    caller: AgentClient, team: Team, alice: User, answer: Answer
) -> None:
    delivery = delivered(caller)
    answer(delivery, feedback="yes")
    before = get(caller, delivery.pk).content.decode()
    retention.keep_content(team, days=1, by=alice, at=database_now())

    retention.erase_old(at=database_now() + timedelta(days=2))

    row = Receipt.objects.get()
    after = get(caller, delivery.pk).content.decode()
    assert row.content_disclosures == ""
    assert after == f"{before.split('~')[0]}~"
    claims = verified(receipts.for_people(row))
    assert "feedback_sha256" not in claims
    assert claims["person"]["name"] == alice.display_name
    # a copy that someone kept still has the answer
    assert verified(before)["feedback_sha256"] == sha256("yes")


def test_a_first_receipt_after_retention_says_nothing_of_the_content(
    caller: AgentClient, team: Team, alice: User, answer: Answer
) -> None:
    delivery = delivered(caller)
    answer(delivery, feedback="yes")
    retention.keep_content(team, days=1, by=alice, at=database_now())
    retention.erase_old(at=database_now() + timedelta(days=2))

    claims = verified(get(caller, delivery.pk).content.decode())

    assert (claims["status"], claims["digest"]) == ("approved", delivery.content_hash)
    assert "feedback_sha256" not in claims


def test_it_has_no_digest_that_was_made_without_a_nonce(
    caller: AgentClient, answer: Answer
) -> None:
    delivery = Delivery.objects.get(pk=caller.deliver(type="question"))
    Delivery.objects.filter(pk=delivery.pk).update(nonce="")  # as in rows of version 0.2
    answer(delivery)

    claims = verified(get(caller, delivery.pk).content.decode())

    assert claims["digest"] is None
    assert delivery.content_hash not in json.dumps(claims)


def test_a_removed_person_is_no_longer_disclosed(
    caller: AgentClient, alice: User, bob: User, answer: Answer
) -> None:
    alone, together = delivered(caller), delivered(caller, quorum=2)
    answer(alone, by=bob)
    at = database_now()
    given: Any = {"content_hash": together.content_hash, "at": at}
    respond(together, by=bob, status="approved", **given)
    answer(together)
    for delivery in (alone, together):
        get(caller, delivery.pk)

    removal.remove(bob, by=person(bob), at=database_now())

    first, second = (
        verified(receipts.for_people(Receipt.objects.get(response__delivery=delivery)))
        for delivery in (alone, together)
    )
    assert "person" not in first
    assert [vote["by"] for vote in second["votes"]] == [alice.display_name]
    assert second["person"]["name"] == alice.display_name
