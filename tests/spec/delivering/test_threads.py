"""Optional `thread` and `supersedes` on deliver (capabilities: thread, supersedes)."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts.models import User
from tests.fixtures.agent_client import AgentClient
from tests.types import MakeDelivery
from wake.acknowledgements import acknowledge, bring_back
from wake.models import Delivery

pytestmark = pytest.mark.django_db


def test_a_revision_replaces_the_delivery_that_it_supersedes(caller: AgentClient) -> None:
    first = caller.deliver(headline="First draft")

    second = caller.deliver(headline="Second draft", supersedes=first)

    assert [str(row.pk) for row in Delivery.objects.awaiting_response()] == [second]
    revision = Delivery.objects.get(pk=second)
    assert (str(revision.supersedes_id), revision.thread) == (first, first)
    assert caller.poll(first)["status"] == "pending"


def test_a_revision_stays_in_the_thread_of_the_first(caller: AgentClient) -> None:
    first = caller.deliver(thread="launch")

    second = caller.deliver(supersedes=first)

    assert Delivery.objects.get(pk=second).thread == "launch"


@pytest.mark.parametrize("earlier", ["00000000-0000-4000-8000-000000000000", "x", 7, True, ["a"]])
def test_superseding_an_unknown_or_foreign_delivery_is_refused(
    caller: AgentClient, earlier: object
) -> None:
    answer = caller.post(caller.payload(supersedes=earlier))

    assert answer.status_code == 422, answer.content
    assert answer.json()["error"]["fields"][0]["field"] == "supersedes"
    assert not Delivery.objects.exists()


def test_acknowledging_removes_an_update_without_telling_the_agent(
    caller: AgentClient, alice: User
) -> None:
    update = Delivery.objects.get(pk=caller.deliver(type="update"))

    taken = acknowledge([update.pk], by=alice, at=timezone.now())

    assert taken == [update]
    assert not Delivery.objects.awaiting_response().exists()
    assert caller.poll(str(update.pk))["status"] == "pending"


def test_a_delivery_that_needs_an_answer_cannot_be_acknowledged(
    make_delivery: MakeDelivery, alice: User
) -> None:
    question = make_delivery(type="question")

    taken = acknowledge([question.pk], by=alice, at=timezone.now())

    assert taken == []
    assert Delivery.objects.awaiting_response().get() == question


def test_acknowledging_can_be_undone(make_delivery: MakeDelivery, alice: User) -> None:
    update = make_delivery(type="update")
    acknowledge([update.pk], by=alice, at=timezone.now())

    brought_back = bring_back([update.pk], by=alice, at=timezone.now())

    assert brought_back == [update]
    assert Delivery.objects.awaiting_response().get().acknowledged_by == ""


def test_readers_and_outsiders_cannot_acknowledge(
    make_delivery: MakeDelivery, rita: User, mallory: User
) -> None:
    update = make_delivery(type="update")

    taken = [acknowledge([update.pk], by=who, at=timezone.now()) for who in (rita, mallory)]

    assert taken == [[], []]
