"""A sample of the deliveries that a rule could answer still goes to people. No agent can choose the
sample."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from tests.fixtures.answering_rules import run_rules
from tests.types import MakeAnsweringRule, MakeDelivery
from tests.wake.answering.test_trials import HOURS
from wake.answering.trials import is_in_sample
from wake.models import Trial


def test_a_sample_goes_to_people(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
) -> None:
    make_answering_rule(on=True)
    deliveries = [make_delivery(headline=f"Question {number}") for number in range(40)]
    sampled = [each for each in deliveries if is_in_sample(each, one_in=2)]

    run_rules(at=timezone.now(), one_in=2)

    assert 0 < len(sampled) < 40
    left = Trial.objects.filter(approved_at__isnull=True)
    assert {(each.delivery, each.due_at) for each in left} == {(each, None) for each in sampled}


def test_the_same_content_stays_in_the_sample_for_a_day(make_delivery: MakeDelivery) -> None:
    """With a new draw for each delivery, an agent could repeat the same content until a rule
    approves it."""
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    headlines = [f"Question {number}" for number in range(40)]

    first, again, next_day = (
        [
            is_in_sample(make_delivery(headline=each, at=noon + hours * HOURS), one_in=2)
            for each in headlines
        ]
        for hours in (0, 11, 12)
    )

    assert first == again
    assert first != next_day


def test_the_sample_depends_on_a_secret(make_delivery: MakeDelivery, settings: Any) -> None:
    deliveries = [make_delivery(headline=f"Question {number}") for number in range(40)]
    before = [is_in_sample(each, one_in=2) for each in deliveries]

    settings.SECRET_KEY = "another"

    assert [is_in_sample(each, one_in=2) for each in deliveries] != before
