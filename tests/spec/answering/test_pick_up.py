"""A person can take an answer back until it has left, and an agent picks an answer up
(docs/protocol.md, Answering)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.access.objects import NotAllowed
from accounts.models import AuditEvent, User
from tests.fixtures import wrapped
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer, MakeDelivery
from wake import pickups
from wake.models import Callback, Delivery, Draft, Response
from wake.undo import PickedUp, take_back


@pytest.mark.parametrize("held", [True, False])
def test_an_answer_can_be_undone_until_it_is_sent(
    caller: AgentClient, answer: Answer, alice: User, held: bool
) -> None:
    """ "The person who answered, or an owner, may take it back until it has left" """
    pk = caller.deliver()
    answer(pk, "redirected", held=held, feedback="Hm.", edited_json='{"a": 1}')

    draft = take_back(Delivery.objects.get(), by=alice, at=timezone.now())

    assert (draft.user, draft.feedback, draft.edited_json) == (alice, "Hm.", '{"a": 1}')
    assert not Response.objects.exists()
    assert caller.poll(pk)["status"] == "pending"
    assert caller.sweep(status="redirected")["total"] == 0
    answer(pk, "approved")
    assert caller.poll(pk)["status"] == "approved"
    assert not Draft.objects.exists()


def test_undoing_deletes_the_callback_too(
    caller: AgentClient, answer: Answer, alice: User, allowed_host: str
) -> None:
    """ "Taking back deletes the Response and its Callback" """
    pk = caller.deliver(callback_webhook=f"https://{allowed_host}/")
    answer(pk)
    assert Callback.objects.exists()

    take_back(Delivery.objects.get(), by=alice, at=timezone.now())

    assert not Callback.objects.exists()


@pytest.mark.parametrize("path", ["response/{}", "responses"])
def test_a_sent_answer_is_never_undone(
    caller: AgentClient, answer: Answer, alice: User, path: str
) -> None:
    """ "stamped before the answer leaves, so what was handed out can never be taken back" """
    pk = caller.deliver()
    answer(pk)
    caller.get(path.format(pk))

    with pytest.raises(PickedUp) as refused:
        take_back(Delivery.objects.get(), by=alice, at=timezone.now())

    assert refused.value.response.picked_up_at is not None
    assert caller.poll(pk)["status"] == "approved"


def test_a_read_without_the_answer_does_not_make_it_final(
    caller: AgentClient, answer: Answer, alice: User
) -> None:
    pk = caller.deliver()
    other = caller.deliver()
    answer(pk)

    caller.poll(other)
    caller.sweep(limit=1)
    caller.sweep(status="pending")
    caller.sweep(agent_id="nobody")

    take_back(Delivery.objects.get(pk=pk), by=alice, at=timezone.now())
    assert not Response.objects.exists()


def test_a_failed_attempt_makes_it_final_too(
    caller: AgentClient, answer: Answer, alice: User
) -> None:
    """ "or the first callback attempt (`sent_at`)"; "one that failed only makes it final" """
    pk = caller.deliver()
    answer(pk)
    Response.objects.update(sent_at=timezone.now())

    with pytest.raises(PickedUp):
        take_back(Delivery.objects.get(pk=pk), by=alice, at=timezone.now())

    assert Response.objects.get().picked_up_at is None


def test_the_author_and_owners_can_undo(
    make_delivery: MakeDelivery, answer: Answer, alice: User, bob: User, rita: User, mallory: User
) -> None:
    delivery = make_delivery()
    answer(delivery, by=bob, held=True)

    for nobody in (rita, mallory):
        with pytest.raises(NotAllowed):
            take_back(delivery, by=nobody, at=timezone.now())
    draft = take_back(delivery, by=alice, at=timezone.now())

    assert draft.user == bob, "It stays the draft of the person who wrote it."
    answer(delivery, by=alice, held=True)
    with pytest.raises(NotAllowed):
        take_back(delivery, by=bob, at=timezone.now())


def test_undoing_is_audited(make_delivery: MakeDelivery, answer: Answer, alice: User) -> None:
    """ "leaves its status and hash in the audit" """
    delivery = make_delivery()
    answer(delivery, "rejected", held=True, feedback="private words")

    take_back(delivery, by=alice, address="192.0.2.7", at=timezone.now())

    event = AuditEvent.objects.get(event="response.taken_back")
    assert event.detail["status"] == "rejected"
    assert event.detail["content_hash"] == delivery.content_hash
    assert (event.actor_name, event.address) == ("alice", "192.0.2.7")
    assert "private words" not in str(AuditEvent.objects.values())


def test_undoing_without_an_answer_is_refused(make_delivery: MakeDelivery, alice: User) -> None:
    with pytest.raises(Response.DoesNotExist):
        take_back(make_delivery(), by=alice, at=timezone.now())


@pytest.mark.parametrize(
    ("path", "route"), [("response/{}", "poll"), ("responses?status=approved", "sweep")]
)
def test_a_get_with_the_answer_is_a_pick_up(
    caller: AgentClient, answer: Answer, path: str, route: str
) -> None:
    """ "Picked up (`picked_up_at`, and by which route) is a GET that carried it" """
    pk = caller.deliver()
    answer(pk)

    caller.get(path.format(pk))
    first = Response.objects.get()
    caller.poll(pk)
    caller.sweep()

    assert first.picked_up_by == route
    assert first.sent_at == first.picked_up_at is not None
    again = Response.objects.get()
    assert (again.picked_up_at, again.picked_up_by) == (first.picked_up_at, route)
    event = AuditEvent.objects.get(event="response.picked_up")
    assert event.object_id == pk
    assert event.detail == {
        "route": route,
        "key": caller.key.hint,
        "content_hash": Delivery.objects.get().content_hash,
    }


def test_an_attempt_before_the_pick_up_keeps_its_time(caller: AgentClient, answer: Answer) -> None:
    pk = caller.deliver()
    answer(pk)
    sent_at = timezone.now() - timedelta(minutes=5)
    Response.objects.update(sent_at=sent_at)

    caller.poll(pk)

    assert Response.objects.get().sent_at == sent_at


def test_the_callbacks_body_is_the_get_body(
    caller: AgentClient, answer: Answer, allowed_host: str
) -> None:
    """ "The body is byte for byte the GET body at that moment." """
    pk = caller.deliver(callback_webhook=f"https://{allowed_host}/", timeout_seconds=3600)

    answer(pk, "redirected", feedback="Größer 🎉", edited_json='{ "z": 1.0, "a": "\\u00fc" }')

    callback = Callback.objects.get()
    assert bytes(callback.body) == caller.get(f"response/{pk}").content
    assert b'{ "z": 1.0, "a": "\\u00fc" }' in bytes(callback.body), "An edit leaves as written."


def test_total_and_has_more_agree_when_an_answer_is_undone_meanwhile(
    caller: AgentClient, answer: Answer, alice: User
) -> None:
    """ "`has_more` = `total > len(deliveries)`": the row that made it true was gone when the rows
    were counted."""
    first, second = caller.deliver(), caller.deliver()
    answer(first)
    answer(second)

    def take_the_second_back() -> None:
        take_back(Delivery.objects.get(pk=second), by=alice, at=timezone.now())

    with wrapped.before(pickups, "mark_picked_up", take_the_second_back):
        sweep = caller.sweep(status="approved", limit=1)

    assert [item["delivery_id"] for item in sweep["deliveries"]] == [first]
    assert sweep["has_more"] == (sweep["total"] > 1)
