"""An assignment keeps others from answering only if the rule says "only they". Owners can still
take the delivery."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access.objects import NotAllowed
from accounts.models import AuditEvent, User
from tests.types import Answer, MakeDelivery, MakeRule
from wake.assignment.assigned import assigned_to
from wake.assignment.taking import NotAssigned, take
from wake.models import Assignment, Delivery, Response
from wake.responses import AlreadyAnswered


def names(delivery: Delivery) -> str:
    return assigned_to([delivery.pk])[delivery.pk].names


def test_without_only_they_everyone_may_answer(
    make_rule: MakeRule, make_delivery: MakeDelivery, answer: Answer, alice: User, bob: User
) -> None:
    make_rule("Bo's", people=[bob])

    answer(make_delivery(), by=alice)

    assert Response.objects.get().by == alice


def test_with_only_they_the_others_may_not(
    make_rule: MakeRule, make_delivery: MakeDelivery, answer: Answer, alice: User, bob: User
) -> None:
    make_rule("Bo's", people=[bob], only_they=True)
    delivery = make_delivery()

    with pytest.raises(NotAssigned, match="Only bob can answer this"):
        answer(delivery, by=alice)
    assert not Response.objects.exists()

    answer(delivery, by=bob)


def test_the_first_answer_is_named_also_to_those_who_may_not(
    make_rule: MakeRule, make_delivery: MakeDelivery, answer: Answer, alice: User, bob: User
) -> None:
    make_rule("Bo's", people=[bob], only_they=True)
    delivery = make_delivery()
    answer(delivery, by=bob)

    with pytest.raises(AlreadyAnswered):
        answer(delivery, by=alice)


def test_an_owner_takes_it_and_answers(
    make_rule: MakeRule, make_delivery: MakeDelivery, answer: Answer, alice: User, bob: User
) -> None:
    make_rule("Bo's", people=[bob], only_they=True)
    delivery = make_delivery()

    for _ in range(2):
        take(delivery, by=alice, address="192.0.2.1", at=timezone.now())
    answer(delivery, by=alice)

    assert names(delivery) == "alice and bob"
    event = AuditEvent.objects.get(event="delivery.taken")
    assert (event.actor_name, event.object_id) == ("alice", str(delivery.pk))


def test_a_reviewer_does_not_take_what_is_only_for_others(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    make_rule("Alice's", people=[alice], only_they=True)
    delivery = make_delivery()

    with pytest.raises(NotAssigned):
        take(delivery, by=bob, at=timezone.now())

    assert names(delivery) == "alice"


def test_a_reviewer_takes_what_is_assigned_to_others_or_to_none(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    make_rule("Alice's alerts", people=[alice], types=["alert"])
    alert, output = make_delivery(type="alert"), make_delivery()

    for delivery in (alert, output):
        take(delivery, by=bob, at=timezone.now())

    assert (names(alert), names(output)) == ("alice and bob", "bob")
    assert Assignment.objects.get(deliveries=output).rule_version is None


@pytest.mark.parametrize("who", ["rita", "mallory"])
def test_those_who_may_not_answer_take_nothing(
    make_delivery: MakeDelivery, alice: User, who: str, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(NotAllowed):
        take(make_delivery(), by=request.getfixturevalue(who), at=timezone.now())

    assert not Assignment.objects.exists()


def test_what_is_answered_is_not_taken(
    make_delivery: MakeDelivery, answer: Answer, alice: User, bob: User
) -> None:
    delivery = make_delivery()
    answer(delivery, by=alice)

    take(delivery, by=bob, at=timezone.now())

    assert not Assignment.objects.exists()


def test_an_answer_in_a_team_without_rules_asks_for_no_assignment(
    make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()

    with CaptureQueriesContext(connection) as queries:
        answer(delivery, held=True)

    assert not [query for query in queries if "wake_assign" in query["sql"]]
