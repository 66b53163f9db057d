"""Several processes vote, answer, expire, change roles, revise, change rules and escalate. There is
one response, and the agent reads only the four statuses."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import ApiKey, AuditEvent, Membership, Team, User
from tests.stress.concurrency.processes import Order, Processes
from tests.types import MakeRule
from wake.models import AssignedPerson, Delivery, Response, Vote
from wake.models.rules import EscalationStep

pytestmark = pytest.mark.slow
ROUNDS = 15
ALICE, BOB, CARLA = (f"{name}@example.com" for name in ("alice", "bob", "carla"))


@pytest.fixture
def carla(team: Team) -> User:
    user = User.objects.create_user(CARLA, display_name="carla")
    Membership.objects.create(user=user, team=team, role=Membership.Role.REVIEWER)
    return user


@pytest.fixture
def two_of(key: ApiKey, make_rule: MakeRule, bob: User, carla: User) -> None:
    make_rule(role="owner", needed=2)


def answering(delivery: Delivery, by: str, status: str = "approved") -> Order:
    return "answer", {"delivery": str(delivery.pk), "by": by, "status": status}


def asked(processes: Processes, **fields: Any) -> Delivery:
    ((pk,),) = processes.at_once(("send", fields))
    return Delivery.objects.get(pk=pk)


def approved_by(processes: Processes, delivery: Delivery, by: str) -> None:
    assert processes.at_once(answering(delivery, by)) == ["Vote"]


def test_two_votes_at_once(two_of: None, processes: Processes) -> None:
    """Meanwhile the agent polls: the quorum is never full before the answer."""
    for _ in range(ROUNDS):
        delivery = asked(processes)

        *votes, told = processes.at_once(
            answering(delivery, ALICE),
            answering(delivery, BOB),
            ("poll", {"delivery": str(delivery.pk), "times": 10}),
        )

        assert sorted(votes) == ["Response", "Vote"]
        assert Response.objects.filter(delivery=delivery).count() == 1
        assert {each["status"] for each in told} == {"pending"}
        assert all(each["have"] < each["needed"] == 2 for each in told)


def test_of_three_votes_at_once_one_is_late(two_of: None, processes: Processes) -> None:
    for _ in range(ROUNDS):
        delivery = asked(processes)

        outcomes = processes.at_once(*[answering(delivery, by) for by in (ALICE, BOB, CARLA)])

        assert sorted(outcomes) == ["AlreadyAnswered", "Response", "Vote"]


def test_the_last_vote_against_a_rejection(two_of: None, processes: Processes) -> None:
    for _ in range(ROUNDS):
        delivery = asked(processes)
        approved_by(processes, delivery, ALICE)

        outcomes = processes.at_once(
            answering(delivery, BOB), answering(delivery, CARLA, "rejected")
        )

        assert sorted(outcomes) == ["AlreadyAnswered", "Response"]
        assert Response.objects.filter(delivery=delivery).count() == 1


def test_the_last_vote_against_an_undone_first(two_of: None, processes: Processes) -> None:
    for _ in range(ROUNDS):
        delivery = asked(processes)
        approved_by(processes, delivery, ALICE)

        outcomes = processes.at_once(
            answering(delivery, BOB), ("undo", {"delivery": str(delivery.pk), "by": ALICE})
        )

        assert outcomes in (["Response", "undone"], ["Vote", "undone"])
        assert [
            vote.user.email for vote in Vote.objects.filter(delivery=delivery) if vote.user
        ] == [BOB]
        assert not Response.objects.filter(delivery=delivery).exists()


def test_the_last_vote_against_the_deadline(two_of: None, processes: Processes) -> None:
    for _ in range(ROUNDS):
        delivery = asked(processes)
        approved_by(processes, delivery, ALICE)
        later = timezone.now() + timedelta(minutes=2)
        Delivery.objects.filter(pk=delivery.pk).update(
            timeout_seconds=60, expires_at=later - timedelta(minutes=1)
        )

        vote, swept = processes.at_once(
            answering(delivery, BOB), ("time_out", {"at": later.isoformat()})
        )

        delivery.refresh_from_db()
        assert vote == "Response"
        assert swept == (delivery.timed_out_at is not None)
        assert delivery.answered_at is not None
        assert Response.objects.filter(delivery=delivery).count() == 1


def test_the_last_vote_against_a_lost_role(two_of: None, processes: Processes) -> None:
    """The last vote either counts the other person's vote, or does not count it. A response names
    only the people whose votes counted."""
    for _ in range(ROUNDS):
        Membership.objects.filter(user__email=BOB).update(role=Membership.Role.REVIEWER)
        delivery = asked(processes)
        approved_by(processes, delivery, BOB)

        vote, _demoted = processes.at_once(answering(delivery, ALICE), ("demote", {"who": BOB}))

        responses = Response.objects.filter(delivery=delivery)
        assert responses.count() == (vote == "Response")
        if vote == "Vote":
            assert processes.at_once(answering(delivery, CARLA)) == ["Response"]
            assert '"bob"' not in responses.get().quorum_json


def test_the_vote_of_a_person_who_loses_the_role_meanwhile(
    two_of: None, processes: Processes
) -> None:
    for _ in range(ROUNDS):
        Membership.objects.filter(user__email=BOB).update(role=Membership.Role.REVIEWER)
        delivery = asked(processes)
        approved_by(processes, delivery, ALICE)

        vote, _demoted = processes.at_once(answering(delivery, BOB), ("demote", {"who": BOB}))

        assert vote in {"Response", "Vote", "NotAllowed"}
        assert Response.objects.filter(delivery=delivery).count() == (vote == "Response")


def test_the_last_vote_against_a_new_version(two_of: None, processes: Processes) -> None:
    for _ in range(ROUNDS):
        delivery = asked(processes)
        approved_by(processes, delivery, ALICE)

        vote, (newer,) = processes.at_once(
            answering(delivery, BOB), ("send", {"supersedes": str(delivery.pk)})
        )

        assert vote in {"Response", "Replaced"}
        assert Response.objects.filter(delivery=delivery).count() == (vote == "Response")
        assert not Vote.objects.filter(delivery=newer).exists()
        assert not Response.objects.filter(delivery=newer).exists()


def test_two_rules_for_one_delivery(
    key: ApiKey, make_rule: MakeRule, processes: Processes, alice: User, bob: User, carla: User
) -> None:
    """Two rules match everything, and change places all the time. The people and the quorum of each
    delivery come from one of the two rules alone."""
    make_rule("A", people=[alice, bob], needed=2)
    make_rule("B", people=[carla, alice, bob], needed=3, must_wait=True)

    processes.at_once(
        ("send", {"times": 15}), ("send", {"times": 15}), ("swap_rules", {"times": 20})
    )

    deliveries = Delivery.objects.select_related("assignment__rule_version")
    assert len(deliveries) == 30
    for delivery in deliveries:
        assert delivery.assignment
        version = delivery.assignment.rule_version
        assert version
        people = delivery.assignment.people.values_list("user", flat=True)
        assert sorted(pk for pk in people if pk) == sorted(version.people)
        assert delivery.quorum == version.needed


def test_a_step_of_escalation_against_the_answer(
    key: ApiKey, make_rule: MakeRule, processes: Processes, alice: User, bob: User
) -> None:
    """Two workers escalate a delivery while a person answers it. A step comes before the answer, or
    not at all."""
    make_rule(people=[alice], escalation=[EscalationStep(minutes=1, people=[bob.pk], role="")])
    later = timezone.now() + timedelta(minutes=2)
    added = 0
    for _ in range(ROUNDS):
        delivery = asked(processes)

        answered, *steps = processes.at_once(
            answering(delivery, ALICE), *[("escalate", {"at": later.isoformat()})] * 2
        )

        added += sum(steps)
        assert answered == "Response"
        assert Response.objects.filter(delivery=delivery).count() == 1

    events = AuditEvent.objects.filter(event="delivery.escalated")
    assert AssignedPerson.objects.filter(user=bob).count() == events.count() == added
    answers = AuditEvent.objects.filter(event="delivery.answered")
    answered_by = dict(answers.values_list("object_id", "pk"))
    assert [event.pk for event in events if event.pk > answered_by[event.object_id]] == []
