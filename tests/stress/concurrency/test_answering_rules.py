"""Rules that answer, people and workers at the same moment: one response, and never above the limit
of a day."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from django.utils import timezone

from accounts.models import User
from tests.stress.concurrency.threads import at_once
from tests.types import MakeAnsweringRule, MakeDelivery
from wake.answering import trials
from wake.answering.trials import note_and_answer
from wake.models import AnsweringRule, Delivery, Response, Trial
from wake.responses import AlreadyAnswered, respond

ROUNDS = 10


@pytest.fixture(autouse=True)
def no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "SAMPLE", 2**128)


def work() -> int:
    return note_and_answer(at=timezone.now())


def rejecting(delivery: Delivery, by: User) -> Callable[[], int]:
    def reject() -> int:
        try:
            respond(
                delivery,
                by=by,
                status="rejected",
                content_hash=delivery.content_hash,
                at=timezone.now(),
            )
        except AlreadyAnswered:
            return 0
        return 1

    return reject


def test_a_person_and_a_rule_at_once_make_one_response(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, alice: User
) -> None:
    make_answering_rule(on=True)
    for _ in range(ROUNDS):
        delivery = make_delivery()

        outcomes = at_once(work, rejecting(delivery, alice))

        response = Response.objects.get(delivery=delivery)
        trial = Trial.objects.filter(delivery=delivery).first()
        is_by_rule = response.rule_version_id is not None
        assert outcomes == ([1, 0] if is_by_rule else [0, 1])
        assert is_by_rule == (trial is not None and trial.approved_at is not None)


def test_workers_at_once_keep_the_limit_of_a_day(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    make_answering_rule(on=True, most_a_day=7)
    made: list[UUID] = [make_delivery().pk for _ in range(15)]

    outcomes = at_once(work, work, work)
    work()

    assert sum(outcomes) <= 7
    assert Response.objects.filter(delivery__in=made).count() == 7
    assert AnsweringRule.objects.get().counted == 7
    assert not Trial.objects.filter(due_at__isnull=False).exists()
