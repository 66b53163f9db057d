"""A rule can ask for several approvals: the last vote needed makes the one response."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import AuditEvent, Membership, Team, User
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer, MakeDelivery, MakeRule
from wake import wire
from wake.assignment.votes import quorum_of
from wake.deadlines import time_out_overdue
from wake.models import Delivery, Draft, Response, Vote
from wake.responses import AlreadyAnswered, release, respond
from wake.undo import take_back


@pytest.fixture
def carla(team: Team) -> User:
    user = User.objects.create_user("carla@example.com", display_name="carla")
    Membership.objects.create(user=user, team=team, role=Membership.Role.REVIEWER)
    return user


@pytest.fixture
def delivery(make_rule: MakeRule, make_delivery: MakeDelivery, bob: User, carla: User) -> Delivery:
    """Creates a question that two people must approve."""
    make_rule(role="owner", needed=2)
    return make_delivery(type="question", timeout_seconds=86_400)


def say(
    delivery: Delivery, by: User, status: str = "approved", feedback: str = ""
) -> Response | Vote:
    return respond(
        delivery,
        by=by,
        status=status,
        content_hash=delivery.content_hash,
        feedback=feedback,
        at=timezone.now(),
    )


def test_the_last_vote_makes_the_response(delivery: Delivery, alice: User, bob: User) -> None:
    first = say(delivery, alice, feedback="Fine by me.")

    assert isinstance(first, Vote)
    assert not Response.objects.exists()
    assert Delivery.objects.get().answered_at is None

    last = say(delivery, bob, feedback="Send it.")

    assert isinstance(last, Response)
    assert (last.by, last.status) == (bob, "approved")
    assert last.feedback == "Fine by me.\n\nSend it."
    event = AuditEvent.objects.get(event="delivery.voted")
    assert (event.detail["have"], event.detail["needed"]) == (1, 2)


def test_the_agent_is_told_of_the_votes(delivery: Delivery, alice: User, bob: User) -> None:
    say(delivery, alice)
    response = say(delivery, bob)
    assert isinstance(response, Response)

    release(response, at=response.release_at)
    response.refresh_from_db()
    body = msgspec.json.decode(
        wire.encode(
            wire.answer(
                delivery_id=delivery.pk,
                expires_at=None,
                status=response.status,
                quorum_json=response.quorum_json,
                at=timezone.now(),
            )
        )
    )

    assert body["status"] == "approved"
    assert body["quorum"] == {"needed": 2, "have": 2}
    assert [each["by"] for each in body["decisions"]] == ["alice", "bob"]


def test_an_agent_without_quorum_sees_no_new_key(
    make_delivery: MakeDelivery, answer: Answer
) -> None:
    response = answer(make_delivery(callback_webhook=""))

    assert response.quorum_json == ""
    body = wire.encode(
        wire.answer(delivery_id=response.delivery_id, expires_at=None, at=timezone.now())
    )
    assert b"quorum" not in body
    assert b"decisions" not in body


@pytest.mark.parametrize("status", ["rejected", "redirected"])
def test_one_other_answer_decides_at_once(
    delivery: Delivery, alice: User, bob: User, status: str
) -> None:
    say(delivery, alice)

    response = say(delivery, bob, status, "No.")

    assert isinstance(response, Response)
    assert (response.status, response.feedback) == (status, "No.")
    votes = msgspec.json.decode(response.quorum_json, type=wire.Votes)
    assert (votes.quorum.needed, votes.quorum.have) == (2, 1)
    assert [each.status for each in votes.decisions] == ["approved", status]


def test_a_person_who_changes_their_mind_is_named_once(delivery: Delivery, alice: User) -> None:
    say(delivery, alice)

    response = say(delivery, alice, "rejected", "No.")

    assert isinstance(response, Response)
    votes = msgspec.json.decode(response.quorum_json, type=wire.Votes)
    assert [each.status for each in votes.decisions] == ["rejected"]
    assert say(delivery, alice, "rejected", "No.") == response


def test_the_same_vote_twice_is_one(delivery: Delivery, alice: User) -> None:
    assert isinstance(say(delivery, alice), Vote)
    assert isinstance(say(delivery, alice), Vote)

    assert Vote.objects.count() == 1
    assert AuditEvent.objects.filter(event="delivery.voted").count() == 1


def test_the_last_vote_twice_is_one_answer(delivery: Delivery, alice: User, bob: User) -> None:
    say(delivery, alice, feedback="One.")

    assert say(delivery, bob, feedback="Two.") == say(delivery, bob, feedback="Two.")
    with pytest.raises(AlreadyAnswered):
        say(delivery, bob, feedback="Three.")


def test_a_vote_of_a_person_who_lost_the_role_does_not_count(
    delivery: Delivery, alice: User, bob: User, carla: User
) -> None:
    say(delivery, bob)
    Membership.objects.filter(user=bob).update(role=Membership.Role.READER)

    assert isinstance(say(delivery, carla), Vote)
    assert isinstance(say(delivery, alice), Response)


def test_a_vote_of_a_deactivated_person_does_not_count(
    delivery: Delivery, alice: User, bob: User, carla: User
) -> None:
    say(delivery, bob)
    User.objects.filter(pk=bob.pk).update(is_active=False)

    assert isinstance(say(delivery, carla), Vote)


def test_a_quorum_larger_than_the_team_asks_for_all_of_it(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    make_rule(role="owner", needed=5)
    delivery = make_delivery()

    assert isinstance(say(delivery, alice), Vote)
    assert isinstance(say(delivery, bob), Response)


def test_where_the_others_left_the_same_vote_again_decides(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    make_rule(role="owner", needed=2)
    delivery = make_delivery()
    say(delivery, alice)
    Membership.objects.filter(user=bob).delete()

    assert isinstance(say(delivery, alice), Response)


def test_a_vote_is_undone_while_others_are_missing(delivery: Delivery, alice: User) -> None:
    say(delivery, alice, feedback="Fine.")

    draft = take_back(delivery, by=alice, at=timezone.now())

    assert draft.feedback == "Fine."
    assert not Vote.objects.exists()
    assert AuditEvent.objects.filter(event="vote.taken_back").count() == 1
    with pytest.raises(Response.DoesNotExist):
        take_back(delivery, by=alice, at=timezone.now())


def test_each_vote_is_undone_in_the_hold(delivery: Delivery, alice: User, bob: User) -> None:
    say(delivery, alice, feedback="Mine.")
    say(delivery, bob, feedback="His.")

    draft = take_back(delivery, by=alice, at=timezone.now())

    assert (draft.user, draft.feedback) == (alice, "Mine.")
    assert not Response.objects.exists()
    assert [vote.user for vote in Vote.objects.all()] == [bob]
    assert isinstance(say(delivery, alice), Response)


def test_an_undone_last_vote_leaves_the_first(delivery: Delivery, alice: User, bob: User) -> None:
    say(delivery, alice)
    say(delivery, bob, feedback="His.")

    take_back(delivery, by=bob, at=timezone.now())

    assert [vote.user for vote in Vote.objects.all()] == [alice]
    assert Draft.objects.get().feedback == "His."


def test_a_new_version_has_no_votes(
    delivery: Delivery, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    say(delivery, alice)

    newer = make_delivery(type="question", supersedes=delivery.pk)

    assert isinstance(say(newer, bob), Vote)
    assert not Response.objects.exists()


def test_a_vote_stops_no_deadline(delivery: Delivery, alice: User, bob: User) -> None:
    say(delivery, alice)

    time_out_overdue(at=timezone.now() + timedelta(days=2))

    assert Delivery.objects.get().timed_out_at is not None
    assert not Response.objects.exists()


def test_one_approval_makes_no_query(
    make_delivery: MakeDelivery, django_assert_num_queries: object
) -> None:
    row = Delivery.objects.get(pk=make_delivery().pk)

    with django_assert_num_queries(0):  # type: ignore[operator]
        assert quorum_of(row) is None


def test_an_agent_asks_for_a_quorum_without_a_rule(
    make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    delivery = make_delivery(quorum=2)

    assert isinstance(say(delivery, alice), Vote)
    assert isinstance(say(delivery, bob), Response)


@pytest.mark.parametrize(("asked", "needed"), [(None, 3), (2, 3), (4, 4)])
def test_an_agent_only_raises_what_the_rule_asks_for(
    make_rule: MakeRule, make_delivery: MakeDelivery, asked: int | None, needed: int
) -> None:
    make_rule(role="owner", needed=3)

    assert make_delivery(quorum=asked).quorum == needed


def test_a_rule_of_one_person_lowers_no_quorum(
    make_rule: MakeRule, make_delivery: MakeDelivery, bob: User
) -> None:
    make_rule(role="owner")

    assert make_delivery(quorum=2).quorum == 2


def test_an_agent_waits_for_no_more_people_than_may_answer(
    make_rule: MakeRule, make_delivery: MakeDelivery, bob: User, carla: User
) -> None:
    make_rule(people=[bob], only_they=True)
    delivery = make_delivery(quorum=5)

    assert isinstance(say(delivery, bob), Response)


def test_a_poll_says_what_is_missing(
    delivery: Delivery, caller: AgentClient, alice: User, bob: User
) -> None:
    say(delivery, alice)

    for body in (caller.poll(str(delivery.pk)), *caller.sweep()["deliveries"]):
        assert body["status"] == "pending"
        assert body["quorum"] == {"needed": 2, "have": 1}
        assert "decisions" not in body


def test_a_held_answer_counts_no_last_vote(
    delivery: Delivery, caller: AgentClient, alice: User, bob: User
) -> None:
    """The person can still undo the vote, and an agent must not act on it before that."""
    say(delivery, alice)
    response = say(delivery, bob)
    assert isinstance(response, Response)

    assert caller.poll(str(delivery.pk))["quorum"] == {"needed": 2, "have": 1}

    release(response, at=response.release_at)
    assert caller.poll(str(delivery.pk))["quorum"] == {"needed": 2, "have": 2}


def test_a_sweep_counts_the_votes_of_all_its_deliveries_together(
    make_delivery: MakeDelivery,
    caller: AgentClient,
    alice: User,
    bob: User,
) -> None:
    for _ in range(3):
        say(make_delivery(quorum=2), alice)
    make_delivery()
    caller.sweep()

    with CaptureQueriesContext(connection) as one:
        caller.sweep(limit=1)
    with CaptureQueriesContext(connection) as four:
        page = caller.sweep()

    assert [each.get("quorum") for each in page["deliveries"]] == [
        *[{"needed": 2, "have": 1}] * 3,
        None,
    ]
    assert len(four) <= len(one)
