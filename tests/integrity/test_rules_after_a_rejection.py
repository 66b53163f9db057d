"""No rule approves what a person has just rejected, even after the agent changed one character."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.utils import timezone

from accounts.agents import registration
from accounts.audit import person
from accounts.models import Agent, ClaimedId, Team, User
from tests.database.locks import locked_elsewhere
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.answering_rules import NO_SAMPLE, REASON, answering_terms, run_rules
from tests.types import Answer, MakeAnsweringRule, MakeDelivery
from wake.answering import results, rules
from wake.answering.refusals import refusals
from wake.deliveries import deliver
from wake.models import AnsweringRule, AnsweringVersion, Delivery, Response, Trial
from wake.responses import respond
from wake.undo import take_back

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def a_rule_that_was_right_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule with one contradiction in a hundred answers stays on. In these tests, no contradiction
    returns a rule to its dry run."""
    # A hundred answers before each test would have the same effect.
    monkeypatch.setattr(results, "ONE_IN", 0)


def work(**later: float) -> int:
    return run_rules(at=timezone.now() + timedelta(**later))


def newest(rule: AnsweringRule) -> AnsweringVersion:
    return AnsweringVersion.objects.of_team(rule.team_id).get(rule=rule)


def refuse(answer: Answer, delivery: Delivery, status: str = "rejected", **how: Any) -> Response:
    return answer(delivery, status, feedback="Not to this account.", **how)


@pytest.mark.parametrize("held", [True, False], ids=["held", "released"])
@pytest.mark.parametrize("status", ["rejected", "redirected"])
def test_a_rule_does_not_approve_what_was_just_rejected_after_a_change(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
    status: str,
    held: bool,
) -> None:
    make_answering_rule(on=True)
    refuse(answer, make_delivery(headline="Refund to account 17"), status, held=held)

    make_delivery(headline="Refund to account 17.")

    assert work() == 0
    assert Response.objects.count() == 1
    assert work(hours=23) == 0


def test_also_if_it_was_delivered_before_the_rejection(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
) -> None:
    make_answering_rule(on=True)
    first, _ = make_delivery(), make_delivery()
    run_rules(at=timezone.now(), at_once=0)
    assert Trial.objects.filter(due_at__isnull=False).count() == 2

    refuse(answer, first)

    assert work() == 0
    assert not Trial.objects.filter(due_at__isnull=False).exists(), "people answer it for good"


def test_it_ends_after_a_day(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer
) -> None:
    now = timezone.now()
    make_answering_rule(on=True, at=now)
    refuse(answer, make_delivery(at=now), at=now)

    make_delivery(at=now + SECOND)
    assert run_rules(at=now + DAY - SECOND) == 0

    make_delivery(at=now + DAY)
    assert run_rules(at=now + DAY) == 1


def test_an_owner_can_make_it_longer(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer
) -> None:
    now = timezone.now()
    make_answering_rule(on=True, at=now, ask_people_days=30)
    refuse(answer, make_delivery(at=now), at=now)
    make_delivery(at=now + 29 * DAY)

    assert run_rules(at=now + 29 * DAY) == 0


def test_taking_the_rejection_back_ends_it(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    make_answering_rule(on=True)
    first = make_delivery()
    refuse(answer, first, held=True)

    take_back(first, by=alice, at=timezone.now())

    later = make_delivery()
    assert work() == 1, "the first one has a draft of a person"
    assert Response.objects.get().delivery == later


def test_undoing_what_the_rule_approved_begins_it(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    alice: User,
) -> None:
    rule = make_answering_rule(on=True)
    sent = make_delivery()
    assert work() == 1
    take_back(sent, by=alice, at=timezone.now())
    make_delivery()

    assert work() == 0
    rule.refresh_from_db()
    assert rule.state == "on"
    assert [each.how for each in refusals(newest(rule), at=timezone.now())] == ["undone"]


@pytest.mark.parametrize(
    "fields",
    [{"type": "question", "irreversible": True}, {"type": "question", "quorum": 2}],
    ids=["irreversible", "quorum"],
)
def test_it_counts_although_the_rule_could_not_have_answered_it(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
    fields: dict[str, Any],
) -> None:
    make_answering_rule(on=True)
    refuse(answer, make_delivery(**fields))

    make_delivery()

    assert work() == 0


def test_a_rejected_revision_counts(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer
) -> None:
    first = make_delivery()
    make_answering_rule(on=True)
    refuse(answer, make_delivery(supersedes=first.pk))

    make_delivery()

    assert work() == 0


def test_what_the_rule_does_not_match_changes_nothing(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer
) -> None:
    make_answering_rule(on=True, pointer="/total", operator="at_most", value="20")
    refuse(answer, make_delivery(details_json='{"total": 21}'))
    make_delivery(details_json='{"total": 20}')

    assert work() == 1

    refuse(answer, make_delivery(details_json='{"total": 19}'))
    make_delivery(details_json='{"total": 20}')
    assert work() == 0


def test_another_agent_is_not_affected_and_all_keys_and_names_of_the_agent_are(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
    agent: Agent,
    team: Team,
    alice: User,
) -> None:
    make_answering_rule(on=True)
    refuse(answer, make_delivery())
    ClaimedId.objects.create(agent=agent, pattern="helper-7")
    other = Agent(team=team, agent_id="another-agent")
    registration.register(other, by=person(alice))

    fields: Any = {"provider": "claude", "type": "output", "headline": "A", "summary": "B"}
    deliver(agent, agent_id="helper-7", at=timezone.now(), **fields)
    theirs = deliver(other, agent_id=other.agent_id, at=timezone.now(), **fields).delivery

    assert work() == 1
    assert Response.objects.get(status="approved").delivery == theirs


def test_a_rejected_test_delivery_changes_nothing(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
    in_test_mode: AgentClient,
) -> None:
    make_answering_rule(on=True)
    refuse(answer, Delivery.objects.get(pk=in_test_mode.deliver()))
    make_delivery()

    assert work() == 1


def test_an_edit_of_the_rule_does_not_end_it(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    """Before its edit, the rule did not even match."""
    by, now = person(alice), timezone.now()
    rule = make_answering_rule(on=True, types=["question"])
    refuse(answer, make_delivery(type="output"))

    rules.change(rule, "Wider", answering_terms(), version=1, by=by, at=now)
    rules.turn_on(rule, version=2, reason=REASON, by=by, at=now)
    make_delivery(type="output")

    assert work() == 0
    assert Response.objects.count() == 1


def test_a_new_rule_in_its_place_does_not_end_it(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    rule = make_answering_rule(on=True)
    refuse(answer, make_delivery())

    rules.remove(rule, version=1, by=person(alice), at=timezone.now())
    make_answering_rule(on=True)
    make_delivery()

    assert work() == 0


@pytest.mark.parametrize("state", ["shadow", "off", "sample", "limited"])
def test_a_rejection_counts_no_matter_what_the_rule_did_with_the_delivery(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
    alice: User,
    state: str,
) -> None:
    rule = make_answering_rule(on=True, most_a_day=1)
    by = person(alice)
    if state in {"shadow", "off"}:
        at = timezone.now()
        rules.turn_off(rule, shadow=state == "shadow", version=1, by=by, at=at)
    if state == "limited":
        make_delivery()
        work()
    first = make_delivery()
    one_in = 1 if state == "sample" else NO_SAMPLE
    assert run_rules(at=timezone.now(), one_in=one_in) == 0

    refuse(answer, first)

    rules.turn_on(rule, version=1, reason=REASON, by=by, at=timezone.now())
    AnsweringRule.objects.update(counted=0)
    make_delivery()
    assert work() == 0


def test_one_rejection_of_several_people_counts(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
    alice: User,
    bob: User,
    team: Team,
) -> None:
    make_answering_rule(on=True)
    delivery = make_delivery(quorum=2)
    respond(
        delivery,
        by=bob,
        status="approved",
        content_hash=delivery.content_hash,
        at=timezone.now(),
    )
    refuse(answer, delivery)
    make_delivery()

    assert work() == 0


def test_erased_content_still_counts_by_agent_and_type(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
) -> None:
    make_answering_rule(on=True, pointer="/total", operator="at_most", value="20")
    refuse(answer, make_delivery(details_json='{"total": 19}'))
    Delivery.objects.update(erased_at=timezone.now(), details_json=None)

    make_delivery(details_json='{"total": 20}')

    assert work() == 0


def test_an_owner_ends_it_and_a_later_rejection_counts(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    rule, by = make_answering_rule(on=True), person(alice)
    refuse(answer, make_delivery())
    [seen] = refusals(newest(rule), at=timezone.now())

    rules.answer_again(rule, seen=seen.at, version=1, by=by, at=timezone.now())
    make_delivery()
    assert work() == 1

    refuse(answer, make_delivery())
    rules.answer_again(rule, seen=seen.at, version=1, by=by, at=timezone.now())
    make_delivery()
    assert work() == 0, "the owner did not see this one"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", ["reject", "undo"])
def test_a_rejection_and_an_approval_by_the_rule_happen_one_after_the_other(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
    alice: User,
    act: str,
) -> None:
    """An approval by a rule locks the rule, and a rejection waits for that lock. Otherwise a
    rejection could be stored before an approval that did not see the rejection."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    rule = make_answering_rule(on=True)
    delivery = make_delivery()
    if act == "undo":
        assert work() == 1

    def refuse_it() -> None:
        if act == "undo":
            take_back(delivery, by=alice, at=timezone.now())
        else:
            refuse(answer, delivery, held=True)

    with (
        locked_elsewhere(AnsweringRule.objects.filter(pk=rule.pk)),
        pytest.raises(DatabaseError, match="lock"),
    ):
        refuse_it()
