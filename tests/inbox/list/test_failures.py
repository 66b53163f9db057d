"""A failure after an approval brings the delivery back to the list, until someone clicks
"Got it"."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import ApiKey, AuditEvent, Membership, User
from database.clock import database_now
from inbox.list.sections import MAX_FAILURES
from inbox.reading.updates import mark
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake import outcomes, retention
from wake.acknowledgements import acknowledge
from wake.models import Delivery, Failure, Retention

pytestmark = pytest.mark.django_db
TITLE = "Failed after approval"


def report(key: ApiKey, delivery: Delivery, status: str = "failed", summary: str = "") -> None:
    outcomes.report(key, delivery.pk, status=status, summary=summary, at=database_now())


@pytest.fixture
def refund(key: ApiKey, make_delivery: MakeDelivery, answer: Answer) -> Delivery:
    """Returns a delivery that Alice approved, and whose action failed."""
    delivery = make_delivery(headline="Refund EUR 180")
    answer(delivery)
    report(key, delivery, summary="card declined")
    return delivery


def got_it(person: Person, *deliveries: Delivery, **fields: str) -> Any:
    joined_ids = ",".join(str(delivery.pk) for delivery in deliveries)
    data = {"deliveries": joined_ids, **fields}
    return person.client.post("/acknowledgements", data, follow=True)


def test_a_failure_comes_back_as_one_line(alices: Person, bobs: Person, refund: Delivery) -> None:
    own, of_others = text_of(alices.get("/")), text_of(bobs.get("/"))

    assert "Nothing needs you. One approved action failed" in own
    assert "Refund EUR 180 Failed after you approved" in own
    assert ": card declined research-agent-01" in own
    assert "Failed after alice approved" in of_others
    assert "You're all caught up" not in own


def test_the_page_of_the_delivery_has_got_it_too(bobs: Person, refund: Delivery) -> None:
    page = text_of(bobs.see(refund))
    got_it(bobs, refund)
    later = text_of(bobs.see(refund))

    assert "The inbox shows this failure until someone clicks Got it. Got it" in page
    assert "bob clicked Got it" in later
    assert "Move to inbox" in later


def test_a_reader_sees_the_failure_without_a_button(ritas: Person, refund: Delivery) -> None:
    page = text_of(ritas.see(refund))

    assert "until someone clicks Got it." in page
    assert "Got it. Got it" not in page


def test_an_open_list_asks_and_hears_of_a_failure(
    bobs: Person, key: ApiKey, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery(headline="Refund EUR 180")
    answer(delivery)
    since = mark(database_now())
    nothing = bobs.get(f"/pulse?since={since}")

    report(key, delivery)

    assert nothing.status_code == 204
    assert "Show 1 failed action" in text_of(bobs.get(f"/pulse?since={since}"))
    make_delivery()
    assert "Show 1 new delivery and 1 failed action" in text_of(bobs.get(f"/pulse?since={since}"))


@pytest.mark.parametrize("status", ["done", "skipped"])
def test_other_outcomes_bring_nothing_back(
    status: str, alices: Person, key: ApiKey, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()
    answer(delivery)
    report(key, delivery, status)

    assert TITLE not in text_of(alices.get("/"))


@pytest.mark.parametrize("status", ["pending", "rejected"])
def test_a_failure_without_an_approval_brings_nothing_back(
    status: str, alices: Person, key: ApiKey, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()
    if status == "rejected":
        answer(delivery, status)
    report(key, delivery)

    assert TITLE not in text_of(alices.get("/"))
    assert not Failure.objects.exists()


def test_an_agent_that_tried_again_ends_the_failure(
    alices: Person, key: ApiKey, refund: Delivery
) -> None:
    report(key, refund, "done", "sent at the second attempt")

    assert TITLE not in text_of(alices.get("/"))


def test_a_second_failure_comes_back_after_got_it(
    alices: Person, key: ApiKey, refund: Delivery
) -> None:
    got_it(alices, refund)

    report(key, refund, summary="still declined")

    assert ": still declined" in text_of(alices.get("/"))


def test_got_it_is_for_the_whole_team(alices: Person, bobs: Person, refund: Delivery) -> None:
    page = got_it(alices, refund)

    assert "Acknowledged: Refund EUR 180." in text_of(page)
    assert "No answer was sent" not in text_of(page)
    assert TITLE not in text_of(bobs.get("/"))
    failure = Failure.objects.get()
    assert failure.acknowledged_by == "alice"
    assert Delivery.objects.get().acknowledged_at is None
    event = AuditEvent.objects.get(event="delivery.acknowledged")
    assert event.object_id == str(refund.pk)


def test_got_it_can_be_undone(alices: Person, bobs: Person, refund: Delivery) -> None:
    page = got_it(alices, refund)
    assert page.context["inbox"].failures[0].done.can_be_undone

    data = {"deliveries": str(refund.pk)}
    back = alices.client.post("/acknowledgements/undo", data, follow=True)

    assert "Back in the inbox." in text_of(back)
    assert "Failed after alice approved" in text_of(bobs.get("/"))


def test_several_failures_have_one_button(
    alices: Person, key: ApiKey, refund: Delivery, make_delivery: MakeDelivery, answer: Answer
) -> None:
    second = make_delivery(headline="Another")
    answer(second)
    report(key, second)
    assert "Got it (all 2)" in text_of(alices.get("/"))

    page = text_of(got_it(alices, second, refund))

    assert "Acknowledged: 2 deliveries." in page


def test_the_newest_failures_are_listed(
    alices: Person, key: ApiKey, make_delivery: MakeDelivery, answer: Answer
) -> None:
    for number in range(MAX_FAILURES + 1):
        delivery = make_delivery(headline=f"Refund {number:02}")
        answer(delivery)
        report(key, delivery)

    page = text_of(alices.get("/"))

    assert "Refund 20" in page
    assert "All failures" in page
    assert "Refund 00" not in page


def test_a_reader_sees_it_and_cannot_acknowledge_it(
    alices: Person, bobs: Person, bob: User, refund: Delivery
) -> None:
    Membership.objects.filter(user=bob).update(role=Membership.Role.READER)

    page = bobs.get("/")

    assert "Failed after alice approved" in text_of(page)
    assert "Got it" not in text_of(page)
    assert not acknowledge([refund.pk], by=bob, at=timezone.now())
    assert Failure.objects.get().acknowledged_at is None


def test_another_team_sees_nothing(mallory: User, refund: Delivery) -> None:
    assert "Refund" not in text_of(Person(mallory).get("/"))


def test_a_filter_of_the_list_applies(alices: Person, refund: Delivery) -> None:
    assert TITLE in text_of(alices.get("/", q="agent:research"))
    assert "1 result" in text_of(alices.get("/", q="agent:research"))
    assert TITLE not in text_of(alices.get("/", q="agent:other"))
    assert TITLE not in text_of(alices.get("/", q="is:test"))


def test_a_failure_in_test_mode_is_listed_with_the_test_deliveries(
    alices: Person, in_test_mode: AgentClient, answer: Answer
) -> None:
    pk = in_test_mode.deliver()
    answer(pk)
    report(in_test_mode.key, Delivery.objects.get(pk=pk))

    assert TITLE not in text_of(alices.get("/"))
    assert TITLE in text_of(alices.get("/", q="is:test"))


def test_an_erased_delivery_is_not_listed(alices: Person, refund: Delivery) -> None:
    Retention.objects.create(team=refund.team, days=1)
    later = timezone.now() + timedelta(days=2)

    retention.erase_old(at=later)

    assert TITLE not in text_of(alices.get("/"))
