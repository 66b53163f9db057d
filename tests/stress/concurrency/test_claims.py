"""Several processes use one approval, take the approval back and erase it. The approval is used
once, or not at all."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from accounts.agents import gates
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent, Gate, Team, User
from tests.stress.concurrency.processes import Order, Processes
from wake.models import Claim, Delivery, Response, Retention
from wake.responses import release

pytestmark = pytest.mark.slow
ROUNDS = 15
ALICE = "alice@example.com"


@pytest.fixture
def gate(team: Team, agent: Agent) -> Gate:
    return gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=timezone.now())[0]


@pytest.fixture(autouse=True)
def _people(key: ApiKey, alice: User) -> None:
    """Returns the agent's key, and the person who approves."""


def approved(processes: Processes) -> Delivery:
    """Delivers, approves and releases."""
    ((pk,),) = processes.at_once(("send", {}))
    assert processes.at_once(("answer", {"delivery": pk, "by": ALICE})) == ["Response"]
    delivery = Delivery.objects.get(pk=pk)
    Response.objects.filter(delivery=delivery).update(release_at=timezone.now())
    return delivery


def claiming(delivery: Delivery, **more: str) -> Order:
    return "claim", {"delivery": str(delivery.pk), **more}


def test_of_claims_at_once_one_uses_the_approval(processes: Processes, gate: Gate) -> None:
    for _ in range(ROUNDS):
        delivery = approved(processes)

        outcomes = processes.at_once(
            claiming(delivery), claiming(delivery), claiming(delivery, by="gate")
        )

        claim = Claim.objects.get(response__delivery=delivery)
        assert sorted(outcomes) == sorted(["AlreadyClaimed", "AlreadyClaimed", str(claim.pk)])
        events = AuditEvent.objects.filter(event="response.claimed", object_id=str(delivery.pk))
        assert events.count() == 1


def test_one_request_twice_at_once_is_one_claim(processes: Processes) -> None:
    for _ in range(ROUNDS):
        delivery = approved(processes)

        outcomes = processes.at_once(*[claiming(delivery, idempotency_key="refund-17")] * 3)

        assert outcomes == [str(Claim.objects.get(response__delivery=delivery).pk)] * 3


def test_a_claim_against_a_take_back(processes: Processes) -> None:
    for _ in range(ROUNDS):
        delivery = approved(processes)

        claimed, undone = processes.at_once(
            claiming(delivery), ("undo", {"delivery": str(delivery.pk), "by": ALICE})
        )

        delivery.refresh_from_db()
        assert (claimed == "NotApproved") == (undone == "undone")
        if undone == "undone":
            assert delivery.status == Delivery.Status.PENDING
            assert not Claim.objects.filter(response__delivery=delivery).exists()
        else:
            assert undone == "PickedUp"
            assert delivery.status == Delivery.Status.APPROVED
            assert str(Claim.objects.get(response__delivery=delivery).pk) == claimed


@pytest.mark.parametrize("status", ["approved", "rejected"])
def test_a_claim_against_an_answer_to_the_newer_version(
    status: str, processes: Processes, gate: Gate
) -> None:
    """The ids are random, so the claim locks the newer version first in about half of the
    rounds."""
    for _ in range(ROUNDS):
        old = approved(processes)
        ((new,),) = processes.at_once(("send", {"supersedes": str(old.pk)}))

        claimed, answered, by_gate = processes.at_once(
            claiming(old),
            ("answer", {"delivery": new, "by": ALICE, "status": status}),
            claiming(old, by="gate"),
        )

        assert answered == "Response"
        claim = Claim.objects.filter(response__delivery=old).first()
        if claim:
            assert str(claim.pk) in (claimed, by_gate)
            assert {claimed, by_gate} <= {str(claim.pk), "AlreadyClaimed"}
        else:
            assert (claimed, by_gate) == ("NotApproved", "NotApproved")


def limited(delivery: Delivery, *, ends_at: datetime) -> Delivery:
    """Releases the answer so that the approval can be used until `ends_at`."""
    response, released_at = Response.objects.get(delivery=delivery), ends_at - timedelta(seconds=60)
    release(response, at=timezone.now())
    Response.objects.filter(pk=response.pk).update(responded_at=released_at)
    Delivery.objects.filter(pk=delivery.pk).update(claim_within_seconds=60)
    return delivery


def test_a_claim_in_time_against_claims_after_the_end(processes: Processes, gate: Gate) -> None:
    """A claim that comes too late never uses the approval, and never prevents a claim that comes in
    time."""
    for _ in range(ROUNDS):
        ends_at = timezone.now()
        delivery = limited(approved(processes), ends_at=ends_at)
        late = (ends_at + timedelta(microseconds=1)).isoformat()

        in_time, *too_late = processes.at_once(
            claiming(delivery, at=ends_at.isoformat()),
            claiming(delivery, at=late),
            claiming(delivery, at=late, by="gate"),
        )

        claim = Claim.objects.get(response__delivery=delivery)
        assert (in_time, claim.claimed_at) == (str(claim.pk), ends_at)
        assert set(too_late) <= {"ApprovalExpired", "AlreadyClaimed"}


def test_claims_while_the_time_runs_out(processes: Processes, gate: Gate) -> None:
    """The time for a claim ends at about the moment when the processes begin."""
    for number in range(ROUNDS):
        ahead = timedelta(milliseconds=number)
        delivery = approved(processes)
        limited(delivery, ends_at=(ends_at := timezone.now() + ahead))

        outcomes = processes.at_once(
            claiming(delivery), claiming(delivery), claiming(delivery, by="gate")
        )

        claim = Claim.objects.filter(response__delivery=delivery).first()
        if claim:
            assert claim.claimed_at <= ends_at
            assert outcomes.count(str(claim.pk)) == 1
            assert set(outcomes) <= {str(claim.pk), "AlreadyClaimed", "ApprovalExpired"}
        else:
            assert set(outcomes) == {"ApprovalExpired"}


def test_a_claim_against_retention(processes: Processes, team: Team) -> None:
    """Erasing loses no claim, and a claim does not prevent erasing."""
    Retention.objects.create(team=team, days=30)
    later = timezone.now() + timedelta(days=60)
    for _ in range(ROUNDS):
        delivery = approved(processes)

        claimed, *_ = processes.at_once(
            claiming(delivery),
            ("erase", {"at": later.isoformat()}),
            ("erase", {"at": later.isoformat()}),
        )
        processes.at_once(("erase", {"at": later.isoformat()}))

        delivery.refresh_from_db()
        assert str(Claim.objects.get(response__delivery=delivery).pk) == claimed
        assert delivery.erased_at is not None
        assert delivery.nonce == ""
