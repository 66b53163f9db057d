"""Deliveries that wait are assigned to more people, step by step."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Absence, AuditEvent, Membership, Team, User
from tests.types import Answer, MakeDelivery, MakeRule
from wake import signals
from wake.acknowledgements import acknowledge
from wake.assignment import rules
from wake.assignment.assigned import assigned_to
from wake.assignment.escalation import escalate_due
from wake.assignment.taking import take
from wake.models import Delivery
from wake.models.rules import EscalationStep
from wake.responses import respond
from wake.undo import take_back


def step(minutes: int, *people: User, role: str = "") -> EscalationStep:
    return {"minutes": minutes, "people": [user.pk for user in people], "role": role}


def names(delivery: Delivery) -> list[str]:
    return [person.name for person in assigned_to([delivery.pk])[delivery.pk].people]


def after(delivery: Delivery, minutes: float) -> datetime:
    return delivery.created_at + timedelta(minutes=minutes)


@pytest.fixture
def waiting(make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User) -> Delivery:
    """Creates a question to Alice that goes to Bob after half an hour."""
    make_rule(people=[alice], escalation=[step(30, bob)])
    return make_delivery(type="question", timeout_seconds=86_400)


def test_a_step_adds_its_people_when_it_is_due(waiting: Delivery) -> None:
    assert escalate_due(at=after(waiting, 29.9)) == 0
    assert names(waiting) == ["alice"]

    assert escalate_due(at=after(waiting, 30)) == 1

    assert names(waiting) == ["alice", "bob"]
    assigned = assigned_to([waiting.pk])[waiting.pk]
    assert assigned.added == ["bob was added after 30 minutes without an answer."]
    event = AuditEvent.objects.get(event="delivery.escalated")
    assert event.detail == {"minutes": 30, "people": ["bob"]}
    assert escalate_due(at=after(waiting, 500)) == 0


def test_each_step_comes_at_its_time(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User, team: Team
) -> None:
    carla = User.objects.create_user("carla@example.com", display_name="carla")
    Membership.objects.create(user=carla, team=team, role=Membership.Role.REVIEWER)
    make_rule(people=[alice], escalation=[step(10, bob), step(60, role="reviewer")])
    delivery = make_delivery(type="question")

    escalate_due(at=after(delivery, 10))
    assert names(delivery) == ["alice", "bob"]
    assert Delivery.objects.get().escalates_at == after(delivery, 60)
    escalate_due(at=after(delivery, 60))

    assert names(delivery) == ["alice", "bob", "carla"]
    assert Delivery.objects.get().escalates_at is None


def test_a_step_waits_while_an_answer_may_be_undone(waiting: Delivery, alice: User) -> None:
    respond(
        waiting,
        by=alice,
        status="approved",
        content_hash=waiting.content_hash,
        at=after(waiting, 29.99),
    )
    assert escalate_due(at=after(waiting, 30)) == 0

    take_back(waiting, by=alice, at=after(waiting, 30))

    assert escalate_due(at=after(waiting, 30.1)) == 1


def test_what_waits_for_no_answer_takes_no_step(
    waiting: Delivery, answer: Answer, alice: User
) -> None:
    answer(waiting)

    assert escalate_due(at=after(waiting, 31)) == 0

    assert names(waiting) == ["alice"]
    assert Delivery.objects.get().escalates_at is None


def test_what_was_acknowledged_or_has_expired_takes_no_step(
    waiting: Delivery, make_delivery: MakeDelivery, alice: User
) -> None:
    update, expiring = make_delivery(type="update"), make_delivery(timeout_seconds=60)
    acknowledge([update.pk], by=alice, at=timezone.now())

    assert escalate_due(at=after(expiring, 30)) == 1

    assert (names(update), names(expiring)) == (["alice"], ["alice"])
    assert names(waiting) == ["alice", "bob"]


def test_who_may_not_answer_any_more_is_not_added_and_a_deputy_is(
    waiting: Delivery, bob: User, rita: User, team: Team
) -> None:
    Membership.objects.filter(user=rita).update(role=Membership.Role.REVIEWER)
    Absence.objects.create(user=bob, deputy=rita, until=timezone.now() + timedelta(days=9))

    escalate_due(at=after(waiting, 30))

    assert names(waiting) == ["alice", "bob", "rita"]


def test_a_member_who_left_is_not_added(waiting: Delivery, bob: User) -> None:
    Membership.objects.filter(user=bob).delete()

    assert escalate_due(at=after(waiting, 30)) == 0

    assert names(waiting) == ["alice"]
    assert not AuditEvent.objects.filter(event="delivery.escalated").exists()


def test_a_person_who_took_it_is_not_added_twice(waiting: Delivery, bob: User) -> None:
    take(waiting, by=bob, at=after(waiting, 1))

    assert escalate_due(at=after(waiting, 30)) == 0
    assert names(waiting) == ["alice", "bob"]


def test_those_who_are_added_are_told(waiting: Delivery, bob: User) -> None:
    told: list[dict[str, Any]] = []

    def listen(**given: Any) -> None:
        told.append(given)

    signals.assigned.connect(listen)
    try:
        escalate_due(at=after(waiting, 30))
    finally:
        signals.assigned.disconnect(listen)

    assert [(each["delivery"], each["user_ids"]) for each in told] == [(waiting, [bob.pk])]


def test_a_step_that_fails_holds_no_other_back(
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
    alice: User,
    bob: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_rule(people=[alice], escalation=[step(30, bob)])
    broken, fine = make_delivery(type="question"), make_delivery(type="question")

    def fail_for_the_first(sender: Any, delivery: Delivery, **_: Any) -> None:
        if delivery.pk == broken.pk:
            raise RuntimeError("A receiver failed.")

    signals.assigned.connect(fail_for_the_first)
    try:
        assert escalate_due(at=after(fine, 30)) == 1
    finally:
        signals.assigned.disconnect(fail_for_the_first)

    assert (names(broken), names(fine)) == (["alice"], ["alice", "bob"])
    assert escalate_due(at=after(fine, 32)) == 1


@pytest.mark.parametrize(
    "steps",
    [
        [{"minutes": 0, "people": [], "role": "owner"}],
        [{"minutes": 10_081, "people": [], "role": "owner"}],
        [{"minutes": 5, "people": [], "role": ""}],
        [{"minutes": 5, "people": [0], "role": ""}],
        [{"minutes": 5, "people": [], "role": "reader"}],
        [{"minutes": each, "people": [], "role": "owner"} for each in (5, 5)],
        [{"minutes": each, "people": [], "role": "owner"} for each in (1, 2, 3, 4)],
    ],
)
def test_a_rule_refuses_steps_that_say_nothing(
    make_rule: MakeRule, steps: list[EscalationStep]
) -> None:
    with pytest.raises(rules.BadRule):
        make_rule(role="owner", escalation=steps)
