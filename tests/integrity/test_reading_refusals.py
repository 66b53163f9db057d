"""A rule reads the details of only a few refused deliveries. If there are more, the rule leaves the
delivery to people."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.integrity.test_rules_after_a_rejection import newest, refuse, work
from tests.types import Answer, MakeAnsweringRule, MakeDelivery
from wake.answering.refusals import MAX_COMPARED, refusals
from wake.models import Delivery


def test_a_rule_reads_the_details_of_few_refusals_and_then_asks_people(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer
) -> None:
    """Each approval used to read the details of everything that people had refused in up to 30
    days, under the lock of the rule."""
    make_answering_rule(on=True, pointer="/total", operator="at_most", value="20")
    for _ in range(MAX_COMPARED):
        refuse(answer, make_delivery(details_json='{"total": 21}'))
    make_delivery(details_json='{"total": 20}')
    assert work() == 1

    refuse(answer, make_delivery(details_json='{"total": 21}'))
    make_delivery(details_json='{"total": 20}')

    assert work() == 0


def test_what_the_rule_is_not_for_is_not_read(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer
) -> None:
    rule = make_answering_rule(
        on=True,
        types=["output"],
        thread_prefix="refunds/",
        pointer="/total",
        operator="at_most",
        value="20",
    )
    fields: list[dict[str, Any]] = [
        {"type": "question", "thread": "refunds/1"},
        {"type": "output", "thread": "other"},
    ]
    for each in fields:
        refuse(answer, make_delivery(details_json='{"total": 20}', **each))

    with CaptureQueriesContext(connection) as queries:
        assert refusals(newest(rule), at=timezone.now()) == []

    assert not [each for each in queries if "details_json" in each["sql"]]


def test_the_page_of_a_rule_reads_no_more_once_the_newest_of_an_agent_is_known(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer
) -> None:
    rule = make_answering_rule(on=True, pointer="/total", operator="at_most", value="20")
    for total in (19, 18, 17):
        refuse(answer, make_delivery(details_json=f'{{"total": {total}}}'))
    expected = Delivery.objects.get(details_json='{"total": 17}')

    with CaptureQueriesContext(connection) as queries:
        [seen] = refusals(newest(rule), at=timezone.now())

    assert seen.delivery == expected
    assert len([each for each in queries if "details_json" in each["sql"]]) == 1
