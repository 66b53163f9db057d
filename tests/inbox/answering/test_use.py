"""The page of a delivery says whether an approval was used, and what came of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents import gates
from accounts.audit import SYSTEM
from accounts.models import ApiKey, User
from database.clock import database_now
from inbox.reading.in_sight import is_whole_in_a_row
from tests.fixtures.strict_client import Client
from tests.types import Answer, MakeDelivery, SignedIn
from wake import claims, outcomes
from wake.claims import Claimant
from wake.models import Delivery

pytestmark = pytest.mark.django_db
NOT_APPROVED = "Sent after the delivery. If you approve, you approve the delivery, not the outcome."


@pytest.fixture
def question(make_delivery: MakeDelivery) -> Delivery:
    return make_delivery(type="question", digest=True)


@pytest.fixture
def browser(signed_in: SignedIn, alice: User) -> Client:
    return signed_in(alice)


def page_of(browser: Client, delivery: Delivery) -> str:
    content: str = browser.get(f"/deliveries/{delivery.pk}/").content.decode()
    return " ".join(content.split())


def use(key: ApiKey, delivery: Delivery, **claimant: Any) -> None:
    by = Claimant(**(claimant or {"key": key}))
    claims.claim(by, delivery.pk, digest=delivery.content_hash, at=database_now())


def test_an_approval_that_waits_for_its_use_says_so(
    question: Delivery, answer: Answer, browser: Client
) -> None:
    assert "Not used yet." not in page_of(browser, question)

    answer(question)

    assert "Not used yet." in page_of(browser, question)


def test_a_used_approval_says_when_and_by_whom(
    key: ApiKey, question: Delivery, answer: Answer, browser: Client
) -> None:
    answer(question)
    gate, _ = gates.issue(
        key.agent.team, name="Refunds", agents=[key.agent], by=SYSTEM, at=database_now()
    )

    use(key, question, gate=gate)

    page = page_of(browser, question)
    assert f"Used at {timezone.localtime():%H:}" in page
    assert "by Refunds." in page
    assert "Not used yet." not in page
    assert "Refunds used the approval" in page


@pytest.mark.parametrize("status", ["rejected", "approved"])
def test_other_answers_say_nothing_of_use(
    status: str, make_delivery: MakeDelivery, answer: Answer, browser: Client
) -> None:
    delivery = make_delivery(digest=status == "rejected")
    answer(delivery, status)

    page = page_of(browser, delivery)
    assert "used" not in page.partition('id="answer-title"')[2].partition("</section>")[0]


def test_an_approval_that_ended_was_never_used(
    make_delivery: MakeDelivery, answer: Answer, browser: Client, age: Any
) -> None:
    delivery = make_delivery(digest=True, claim_within_seconds=600)
    assert "The agent has to use an approval within 10 min." in page_of(browser, delivery)
    answer(delivery)
    assert "Not used yet. The agent can use it until" in page_of(browser, delivery)

    age(delivery, minutes=11)

    assert "Never used. The agent had until" in page_of(browser, delivery)


def test_outcomes_are_on_the_page_and_name_what_cannot_be_seen(
    key: ApiKey, question: Delivery, answer: Answer, browser: Client
) -> None:
    answer(question)
    at = database_now()
    outcomes.report(key, question.pk, status="failed", summary="No\u202e money", at=at)
    later = at + timedelta(seconds=1)
    details = '{"id": "re_3F<b>"}'
    outcomes.report(key, question.pk, status="done", details_json=details, at=later)

    page = page_of(browser, question)

    assert page.index("<strong>Failed</strong>") < page.index("<strong>Done</strong>")
    assert "⟨U+202E⟩" in page
    assert "re_3F&lt;b&gt;" in page
    assert f"{key.agent.agent_id} reported: failed" in page


def test_a_report_before_the_answer_is_apart_from_what_is_approved(
    key: ApiKey, browser: Client, make_delivery: MakeDelivery
) -> None:
    """An outcome is not part of the digest, so an approval does not cover the outcome."""
    question = make_delivery(type="question", details_json='"Refund EUR 90,000."')
    outcomes.report(key, question.pk, status="done", summary="Now EUR 9.", at=database_now())

    page = page_of(browser, question)

    assert page.index("Refund EUR 90,000.") < page.index(NOT_APPROVED) < page.index("Now EUR 9.")


def test_after_the_answer_a_report_is_beside_it(
    key: ApiKey, question: Delivery, answer: Answer, browser: Client
) -> None:
    answer(question)
    outcomes.report(key, question.pk, status="done", at=database_now())

    assert NOT_APPROVED not in page_of(browser, question)


def test_a_row_does_not_show_such_an_end(make_delivery: MakeDelivery) -> None:
    assert is_whole_in_a_row(make_delivery(type="question"))
    assert not is_whole_in_a_row(make_delivery(type="question", claim_within_seconds=600))
