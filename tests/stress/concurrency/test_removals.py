"""A person is removed while a receipt of their answer is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.audit import person
from accounts.models import User
from accounts.people.data import removal
from tests.fixtures.agent_client import AgentClient
from tests.stress.concurrency.threads import wait_for_a_lock
from tests.types import Answer
from wake.models import Delivery, Receipt
from wake.proof import receipts, sd_jwt
from wake.responses import respond

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time"),
]


@pytest.fixture(autouse=True)
def _owner(alice: User) -> None:
    """Returns the person who owns the team, so that Bob can be removed."""


@contextmanager
def while_open(action: Callable[[], Any]) -> Iterator[None]:
    """Runs the body in a transaction. Starts the action in a thread when the body ends, and commits
    when the action waits for a lock. Then lets the action end."""

    def act() -> None:
        try:
            action()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            yield
            acting = threads.submit(act)
            wait_for_a_lock()
        acting.result(30)


def named_in(receipt: Receipt) -> list[Any]:
    """Returns the people whom the disclosures name: who answered, and who voted."""
    answered = [value["name"] for _, value in sd_jwt.split(receipt.person_disclosure)]
    return answered + [vote["by"] for _, vote in sd_jwt.split(receipt.vote_disclosures)]


@pytest.mark.parametrize("quorum", [None, 2])
def test_a_receipt_made_during_the_removal_names_no_one(
    caller: AgentClient, bob: User, alice: User, answer: Answer, quorum: int | None
) -> None:
    pk = caller.deliver(type="question", **({"quorum": quorum} if quorum else {}))
    if quorum:
        row = Delivery.objects.get(pk=pk)
        given: Any = {"content_hash": row.content_hash, "at": timezone.now()}
        respond(row, by=alice, status="approved", **given)
    answer(pk, by=bob)

    with while_open(lambda: removal.remove(bob, by=person(bob), at=timezone.now())):
        delivery = Delivery.objects.select_for_update(of=("self",)).get(pk=pk)
        response = receipts.released(delivery)
        assert response
        made = receipts.receipt_of(response, at=timezone.now())
        assert bob.display_name in named_in(made)

    expected = [alice.display_name] if quorum else []
    assert named_in(Receipt.objects.get()) == expected
