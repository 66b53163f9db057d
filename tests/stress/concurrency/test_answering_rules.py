"""Rules, people and workers of several processes answer at once: there is one response, and never
more than the limit of a day."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts.models import ApiKey, User
from tests.stress.concurrency.processes import Order, Processes
from tests.types import MakeAnsweringRule
from wake.answering.trials import is_in_sample
from wake.models import AnsweringRule, Delivery, Response, Trial

pytestmark = pytest.mark.slow
ROUNDS = 15
WORK: Order = ("answer_by_rules", {})


def sent(processes: Processes, times: int = 1) -> list[Delivery]:
    """Returns the deliveries that are not in the sample for people."""
    (ids,) = processes.at_once(("send", {"times": times}))
    return [row for row in Delivery.objects.filter(pk__in=ids) if not is_in_sample(row)]


def test_a_person_and_a_rule(
    key: ApiKey, make_answering_rule: MakeAnsweringRule, alice: User, processes: Processes
) -> None:
    make_answering_rule(on=True)
    for _ in range(ROUNDS):
        for delivery in sent(processes):
            reject = {"delivery": str(delivery.pk), "by": alice.email, "status": "rejected"}

            approved, rejected = processes.at_once(WORK, ("answer", reject))
            processes.at_once(WORK)

            response = Response.objects.get(delivery=delivery)
            is_by_rule = response.rule_version_id is not None
            assert (approved, rejected) == (
                (1, "AlreadyAnswered") if is_by_rule else (0, "Response")
            )
            approvals = Trial.objects.filter(delivery=delivery, approved_at__isnull=False)
            assert approvals.exists() == is_by_rule
            if not is_by_rule:
                sent(processes)
                assert processes.at_once(WORK) == [0], "the agent's deliveries go to people"
            AnsweringRule.objects.update(counts_refusals_after=timezone.now())


def test_workers_keep_the_limit_of_a_day(
    key: ApiKey, make_answering_rule: MakeAnsweringRule, processes: Processes
) -> None:
    make_answering_rule(on=True, most_a_day=7)
    deliveries = sent(processes, 20)

    processes.at_once(WORK, WORK, WORK)
    processes.at_once(WORK)

    assert Response.objects.filter(delivery__in=deliveries).count() == 7
    assert AnsweringRule.objects.get().counted == 7
    assert not Trial.objects.filter(due_at__isnull=False).exists()


def test_a_rule_that_is_turned_off_meanwhile(
    key: ApiKey, make_answering_rule: MakeAnsweringRule, processes: Processes
) -> None:
    """An approval from before the rule was turned off is stored completely. After that, the rule
    approves nothing."""
    rule = make_answering_rule(on=True, most_a_day=500)
    sent(processes, 20)

    approved, off = processes.at_once(WORK, ("turn_off", {"rule": str(rule.pk)}))
    later = sent(processes, 3)
    assert processes.at_once(WORK, WORK) == [0, 0]

    assert off == "off"
    assert Response.objects.count() == approved == Trial.objects.exclude(approved_at=None).count()
    assert not Response.objects.filter(delivery__in=later).exists()
