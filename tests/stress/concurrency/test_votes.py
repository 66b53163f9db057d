"""Concurrent votes, answers, deadlines and changes of roles have one response."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Agent, Membership, Team, User
from tests.stress.concurrency.threads import at_once
from tests.types import MakeDelivery, MakeRule
from wake.deadlines import time_out_overdue
from wake.models import Delivery, Response, Vote
from wake.responses import AlreadyAnswered, ContentChanged, PickedUp, respond, take_back

ROUNDS = 10


@pytest.fixture
def carla(team: Team) -> User:
    user = User.objects.create_user("carla@example.com", display_name="carla")
    Membership.objects.create(user=user, team=team, role=Membership.Role.REVIEWER)
    return user


@pytest.fixture
def two_of(agent: Agent, make_rule: MakeRule, bob: User, carla: User) -> None:
    make_rule(role="owner", needed=2)


def voting(delivery: Delivery, by: User, status: str = "approved") -> Callable[[], str]:
    def vote() -> str:
        try:
            given = respond(
                delivery,
                by=by,
                status=status,
                content_hash=delivery.content_hash,
                feedback="" if status == "approved" else "No.",
                at=timezone.now(),
            )
        except AlreadyAnswered:
            return "AlreadyAnswered"
        return type(given).__name__

    return vote


def test_two_votes_at_once_make_one_response(
    two_of: None, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    """Each would be the first vote if neither saw the other, and the delivery would wait for
    ever."""
    for _ in range(ROUNDS):
        delivery = make_delivery()

        outcomes = at_once(voting(delivery, alice), voting(delivery, bob))

        assert sorted(outcomes) == ["Response", "Vote"]
        assert Response.objects.filter(delivery=delivery).count() == 1


def test_of_three_votes_at_once_one_is_late(
    two_of: None, make_delivery: MakeDelivery, alice: User, bob: User, carla: User
) -> None:
    for _ in range(ROUNDS):
        delivery = make_delivery()

        outcomes = at_once(*[voting(delivery, by) for by in (alice, bob, carla)])

        assert sorted(outcomes) == ["AlreadyAnswered", "Response", "Vote"]


def test_the_last_vote_against_a_rejection(
    two_of: None, make_delivery: MakeDelivery, alice: User, bob: User, carla: User
) -> None:
    for _ in range(ROUNDS):
        delivery = make_delivery()
        voting(delivery, alice)()

        outcomes = at_once(voting(delivery, bob), voting(delivery, carla, "rejected"))

        assert sorted(outcomes) == ["AlreadyAnswered", "Response"]


def test_the_last_vote_against_an_undone_first(
    two_of: None, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    """Whichever comes first, one vote is left, and no response."""
    for _ in range(ROUNDS):
        delivery = make_delivery()
        voting(delivery, alice)()

        at_once(voting(delivery, bob), _undoing(delivery, alice))

        assert [vote.user for vote in Vote.objects.filter(delivery=delivery)] == [bob]
        assert not Response.objects.filter(delivery=delivery).exists()


def _undoing(delivery: Delivery, by: User) -> Callable[[], str]:
    def undo() -> str:
        try:
            take_back(delivery, by=by, at=timezone.now())
        except (PickedUp, Response.DoesNotExist) as fact:
            return type(fact).__name__
        return "undone"

    return undo


def test_the_last_vote_against_the_deadline(
    two_of: None, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    for _ in range(ROUNDS):
        delivery = make_delivery(timeout_seconds=60)
        voting(delivery, alice)()

        def time_out() -> str:
            time_out_overdue(at=timezone.now() + timedelta(minutes=2))
            return "swept"

        outcomes: list[Any] = at_once(voting(delivery, bob), time_out)

        assert outcomes == ["Response", "swept"]
        delivery.refresh_from_db()
        assert Response.objects.filter(delivery=delivery).count() == 1
        assert delivery.answered_at is not None


def test_the_last_vote_while_the_first_person_loses_the_role(
    two_of: None, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    """The vote counted the other one, or it did not: one response or none, never two."""
    member = Membership.objects.filter(user=bob)
    for _ in range(ROUNDS):
        member.update(role=Membership.Role.REVIEWER)
        delivery = make_delivery()
        voting(delivery, bob)()

        def demote() -> str:
            member.update(role=Membership.Role.READER)
            return "demoted"

        outcomes = at_once(voting(delivery, alice), demote)

        is_answered = Response.objects.filter(delivery=delivery).exists()
        assert outcomes == ["Response" if is_answered else "Vote", "demoted"]


def test_a_vote_against_a_new_version(
    two_of: None, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    """The new version never has the votes of the old one."""
    for _ in range(ROUNDS):
        delivery = make_delivery()
        voting(delivery, alice)()
        newer: list[Delivery] = []

        def replace(old: Delivery = delivery, newer: list[Delivery] = newer) -> str:
            newer.append(make_delivery(supersedes=old.pk))
            return "replaced"

        def vote(old: Delivery = delivery) -> str:
            try:
                return voting(old, bob)()
            except ContentChanged as fact:
                return type(fact).__name__

        outcomes = at_once(vote, replace)

        assert outcomes[0] in {"Response", "Replaced", "ContentChanged"}
        assert not Vote.objects.filter(delivery=newer[0]).exists()
        assert not Response.objects.filter(delivery=newer[0]).exists()
