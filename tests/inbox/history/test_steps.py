"""The history says what came of an answer: given, used, and what the agent reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import ApiKey
from database.clock import database_now
from pages.times import moment
from tests.inbox.person import Person, text_of
from tests.types import Age, Answer, MakeDelivery
from wake import claims, outcomes
from wake.claims import Claimant
from wake.models import Claim, Delivery, Outcome, Response

pytestmark = pytest.mark.django_db


def use(key: ApiKey, delivery: Delivery) -> None:
    digest = delivery.content_hash
    claims.claim(Claimant(key=key), delivery.pk, digest=digest, at=database_now())


def report(key: ApiKey, delivery: Delivery, status: str, summary: str = "") -> None:
    outcomes.report(key, delivery.pk, status=status, summary=summary, at=database_now())


def test_a_used_approval_shows_its_steps_and_the_outcome(
    alices: Person, bobs: Person, key: ApiKey, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery(headline="Refund EUR 180?", digest=True)
    answer(delivery)
    use(key, delivery)
    report(key, delivery, "done", "refund re_3F sent")

    own, of_others = text_of(alices.get("/history/")), text_of(bobs.get("/history/"))

    now = timezone.now()
    answered = moment(Response.objects.get().answered_at, now=now)
    used = moment(Claim.objects.get().claimed_at, now=now)
    done = moment(Outcome.objects.get().reported_at, now=now)
    assert f"You approved {answered} used {used} done {done}: refund re_3F sent" in own
    assert f"alice approved {answered} used {used}" in of_others
    assert "Fetched by the agent" not in own


def test_only_the_newest_outcome_is_shown(
    alices: Person, key: ApiKey, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery(type="question")
    answer(delivery, "redirected", feedback="The second one")
    report(key, delivery, "failed", "card declined")
    report(key, delivery, "skipped", "given up")

    page = text_of(alices.get("/history/"))

    assert "You answered" in page
    assert ": given up" in page
    assert "card declined" not in page


def test_an_outcome_without_an_answer_is_shown(
    alices: Person, key: ApiKey, make_delivery: MakeDelivery, age: Age
) -> None:
    delivery = make_delivery(type="question", timeout_seconds=60)
    age(delivery, minutes=5)
    report(key, delivery, "done", "went ahead")

    page = text_of(alices.get("/history/"))

    assert ": went ahead" in page
    assert "You" not in page


def test_the_summary_of_an_agent_is_escaped(
    alices: Person, key: ApiKey, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()
    answer(delivery)
    report(key, delivery, "done", "<img src=x>\u202eevil")

    page = alices.get("/history/").content.decode()

    assert "&lt;img src=x&gt;⟨U+202E⟩evil" in page


def test_an_unreadable_summary_leaves_the_other_rows(
    alices: Person, key: ApiKey, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery(headline="Refund")
    answer(delivery)
    report(key, delivery, "done")
    Outcome.objects.update(summary="\x01fernet:lost")

    assert "Refund Approved" in text_of(alices.get("/history/"))


def test_fifty_rows_with_outcomes_take_no_more_queries(
    alices: Person,
    key: ApiKey,
    make_delivery: MakeDelivery,
    answer: Answer,
    django_assert_max_num_queries: Callable[..., Any],
) -> None:
    for _ in range(55):
        delivery = make_delivery()
        answer(delivery)
        report(key, delivery, "failed", "card declined")
        report(key, delivery, "done", "sent")

    with django_assert_max_num_queries(7):
        page = text_of(alices.get("/history/"))

    assert page.count(": sent") == 50
