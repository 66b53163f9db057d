"""In its dry run, a rule records what it would approve. Once the rule is on, it approves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.agents import registration
from accounts.audit import SYSTEM, person
from accounts.models import Agent, AuditEvent, Membership, Team, User
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.answering_rules import run_rules
from tests.types import Answer, MakeAnsweringRule, MakeDelivery, MakeRule
from wake import wire
from wake.answering import rules
from wake.answering.results import results_of
from wake.mcp import wording
from wake.models import AnsweringRule, AnsweringVersion, Callback, Delivery, Response, Trial
from wake.responses import release, release_due, respond
from wake.undo import take_back

HOURS = timedelta(hours=1)


def work() -> int:
    return run_rules(at=timezone.now())


def test_a_rule_in_shadow_notes_what_it_would_approve(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    make_answering_rule()
    delivery = make_delivery()

    assert work() == 0

    trial = Trial.objects.get()
    assert (trial.delivery, trial.due_at) == (delivery, None)
    assert not Response.objects.exists()
    assert work() == 0
    assert Trial.objects.count() == 1


def test_a_rule_that_is_on_approves(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    rule = make_answering_rule(on=True)
    delivery = make_delivery(timeout_seconds=600)

    assert work() == 1

    response = Response.objects.get()
    assert (response.status, response.by, response.by_name) == (
        "approved",
        None,
        "the rule “Small refunds”",
    )
    assert response.responded_at is None, "people can undo it"
    assert Trial.objects.get().approved_at is not None
    event = AuditEvent.objects.get(event="delivery.answered")
    assert (event.actor_kind, event.actor_id) == ("rule", str(rule.pk))
    assert event.detail["rule_version"] == 1
    assert event.object_id == str(delivery.pk)
    assert work() == 0


def test_what_a_rule_approves_is_held_from_when_it_was_approved(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
) -> None:
    """The job may have read deliveries for seconds before it approves."""
    make_answering_rule(on=True)
    make_delivery()
    at = timezone.now()

    assert run_rules(at=at, clock=iter([7.0, 11.0]).__next__) == 1

    response = Response.objects.get()
    assert response.answered_at == at + timedelta(seconds=4)
    assert response.release_at == response.answered_at + timedelta(seconds=10)


def test_the_agent_is_told_that_a_rule_answered(
    make_answering_rule: MakeAnsweringRule, caller: AgentClient, allowed_host: str
) -> None:
    make_answering_rule(on=True)
    pk = caller.deliver(callback_webhook=f"https://{allowed_host}/wake")
    work()
    assert "responded_by" not in caller.get(f"response/{pk}").json(), "it is held"

    release_due(at=timezone.now() + HOURS)

    polled = caller.get(f"response/{pk}")
    assert polled.json()["status"] == "approved"
    assert polled.json()["responded_by"] == {"kind": "rule"}
    [swept] = caller.get("responses").json()["deliveries"]
    assert swept == polled.json()
    assert bytes(Callback.objects.get().body) == polled.content


def test_a_model_is_told_that_a_rule_approved() -> None:
    rows: dict[str, Any] = {"delivery_id": uuid4(), "expires_at": None, "at": timezone.now()}
    by_rule = wire.answer(**rows, status="approved", is_by_rule=True)
    by_person = wire.answer(**rows, status="approved")

    assert "approved: A rule of the team approved it." in wording.answered(by_rule)
    assert "approved: A person approved it." in wording.answered(by_person)
    assert wording.task(by_rule, "completed") == "A rule of the team answered: approved."


def test_an_answer_of_a_person_does_not_say_who(
    make_answering_rule: MakeAnsweringRule, caller: AgentClient, answer: Answer
) -> None:
    make_answering_rule()
    pk = caller.deliver()
    answer(pk)

    assert "responded_by" not in caller.get(f"response/{pk}").json()


@pytest.mark.parametrize(
    "fields",
    [{"type": "alert"}, {"type": "update"}, {"irreversible": True}, {"quorum": 2}],
    ids=lambda fields: next(iter(fields)),
)
def test_some_deliveries_are_for_people_alone(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, fields: dict[str, Any]
) -> None:
    make_answering_rule(on=True)
    make_delivery(**fields)

    assert work() == 0
    assert not Trial.objects.exists()


def test_a_revision_is_for_people(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer
) -> None:
    """If rules answered revisions, an agent could send a rejected delivery again until a rule
    approves it."""
    first = make_delivery()
    answer(first, "rejected")
    make_answering_rule(on=True)

    make_delivery(supersedes=first.pk)

    assert work() == 0
    assert not Trial.objects.exists()


def test_what_only_some_may_answer_is_for_them(
    make_answering_rule: MakeAnsweringRule,
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
    alice: User,
) -> None:
    make_answering_rule(on=True)
    make_rule(people=[alice], only_they=True)
    make_delivery()

    assert work() == 0
    assert not Trial.objects.exists()


def test_questions_of_another_app_and_test_deliveries_are_left_out(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, in_test_mode: AgentClient
) -> None:
    make_answering_rule(on=True)
    make_delivery(type="question", is_internal=True)
    in_test_mode.deliver()

    assert work() == 0
    assert not Trial.objects.exists()


def test_a_rule_is_for_what_it_names(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    make_answering_rule(pointer="/total", operator="at_most", value="20", types=["question"])
    small = make_delivery(type="question", details_json='{"total": 19.5}')
    make_delivery(type="question", details_json='{"total": 21}')
    make_delivery(type="output", details_json='{"total": 1}')

    work()

    assert [trial.delivery for trial in Trial.objects.all()] == [small]


def test_what_came_before_the_rule_is_not_its_own(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer
) -> None:
    earlier = make_delivery()
    rule = make_answering_rule()
    shadowed = make_delivery()
    rules.turn_on(
        rule,
        version=1,
        reason="Tried by hand before.",
        by=person(User.objects.get(email="alice@example.com")),
        at=timezone.now(),
    )
    answer(earlier)  # this moves the delivery's stamp, so that the delivery is read again

    assert work() == 0

    assert [trial.delivery for trial in Trial.objects.all()] == [shadowed]


def test_a_rule_approves_at_most_so_many_a_day(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    rule = make_answering_rule(on=True, most_a_day=2, at=noon)
    for _ in range(3):
        make_delivery(at=noon)

    assert run_rules(at=noon) == 2
    assert run_rules(at=noon + 11 * HOURS) == 0, "the third is for people"
    make_delivery(at=noon + 12 * HOURS)
    assert run_rules(at=noon + 12 * HOURS) == 1, "a new day"
    rule.refresh_from_db()
    assert rule.counted == 1


def test_a_rule_ends(make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery) -> None:
    now = timezone.now()
    make_answering_rule(on=True, expires_at=now + HOURS)
    make_delivery()

    assert run_rules(at=now + HOURS) == 0
    assert not Response.objects.exists()


@pytest.mark.parametrize("shadow", [False, True])
def test_a_rule_that_is_off_approves_nothing_more(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    alice: User,
    shadow: bool,
) -> None:
    rule = make_answering_rule(on=True)
    make_delivery()
    # This run records the trial while the rule is on. No approval is made yet, so the trial stays
    # due.
    run_rules(at=timezone.now(), at_once=0)
    assert Trial.objects.get().due_at is not None

    rules.turn_off(rule, shadow=shadow, version=1, by=person(alice), at=timezone.now())

    assert work() == 0
    assert not Response.objects.exists()
    assert Trial.objects.get().due_at is None


def test_a_person_who_answers_first_decides(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer
) -> None:
    rule = make_answering_rule(on=True)
    answer(make_delivery(), "rejected")

    assert work() == 0

    assert Response.objects.get().status == "rejected"
    results = results_of(AnsweringVersion.objects.get(rule=rule))
    assert (results.agreed, results.contradicted) == (0, 1)


def test_a_delivery_that_waits_no_more_is_left(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    make_answering_rule(on=True)
    first = make_delivery()
    make_delivery(supersedes=first.pk)
    make_delivery(timeout_seconds=60)  # the delivery has expired by then
    waiting = make_delivery()

    assert run_rules(at=timezone.now() + HOURS) == 1
    assert Response.objects.get().delivery == waiting


def test_what_a_paused_agent_delivered_before_is_for_people(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, agent: Agent
) -> None:
    make_answering_rule(on=True)
    make_delivery()

    registration.pause(agent, by=SYSTEM, at=timezone.now())

    assert work() == 0
    registration.resume(agent, by=SYSTEM)
    assert work() == 0
    assert not Response.objects.exists()


def test_undoing_what_a_rule_approved_returns_it_to_shadow(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, team: Team, bob: User
) -> None:
    Membership.objects.filter(user=bob).update(role="reviewer")
    rule = make_answering_rule(on=True)
    delivery = make_delivery()
    work()

    take_back(delivery, by=bob, at=timezone.now())

    assert work() == 0, "it waits for people now"
    make_delivery()
    assert work() == 0
    rule.refresh_from_db()
    assert rule.state == "shadow"
    assert rule.stopped_itself_at is not None
    event = AuditEvent.objects.get(event="answering_rule.back_to_shadow")
    assert (event.actor_kind, event.detail["contradicted"]) == ("system", 1)
    assert not Response.objects.exists()
    again = respond(
        delivery,
        by=bob,
        status="approved",
        content_hash=delivery.content_hash,
        at=timezone.now(),
    )
    assert isinstance(again, Response)
    release(again, at=timezone.now())
    assert results_of(AnsweringVersion.objects.get(rule=rule)).contradicted == 1


def test_an_answer_is_released_at_once_without_a_hold(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, settings: Any
) -> None:
    settings.WAKE_HOLD_SECONDS = 0
    make_answering_rule(on=True)
    make_delivery()

    assert work() == 1
    assert Delivery.objects.get().status == "approved"


def test_the_first_rule_that_is_on_answers_and_the_others_are_tried(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    at = timezone.now() - HOURS
    names = ["In shadow", "First", "Second"]
    for number, name in enumerate(names):
        make_answering_rule(name, on=number > 0, at=at + timedelta(seconds=number))
    make_delivery()

    assert work() == 1

    assert Response.objects.get().by_name == "the rule “First”"
    assert Trial.objects.count() == 3
    release_due(at=timezone.now() + HOURS)
    assert Delivery.objects.get().status == "approved"
    judged = [results_of(version).judged for version in AnsweringVersion.objects.all()]
    assert judged == [0, 0, 0], "no person answered it"


def test_without_rules_it_makes_three_queries(make_delivery: MakeDelivery) -> None:
    make_delivery()

    with CaptureQueriesContext(
        connection,
    ) as queries:
        work()

    assert len(queries) == 3


def test_a_removed_rule_is_not_tried(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    rule = make_answering_rule()
    AnsweringRule.objects.filter(pk=rule.pk).update(removed_at=timezone.now())
    make_delivery()
    work()

    assert not Trial.objects.exists()
