"""Answering: "held, then picked up" (docs/protocol.md). tests/inbox tests the buttons. The tests
here call respond(), and look at what the agent sees."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from accounts.access.objects import NotAllowed
from accounts.models import AuditEvent, User
from tests.fixtures.agent_client import AgentClient
from tests.types import Age, Answer, MakeDelivery
from wake import signals
from wake.models import Callback, Delivery, Response
from wake.proof.digest import content_digest
from wake.responses import (
    AlreadyAnswered,
    BadEdit,
    ContentChanged,
    EditNotWanted,
    NothingToSend,
    release_due,
    respond,
)

WORDS: dict[str, dict[str, str]] = {
    "approved": {"feedback": "Great work."},
    "rejected": {"feedback": "No."},
    "redirected": {"feedback": "Like this.", "edited_json": '{"updated_brief": "..."}'},
}


@pytest.mark.parametrize("type_", ["update", "question", "output", "alert"])
@pytest.mark.parametrize("status", ["approved", "rejected", "redirected"])
def test_three_answers_for_every_type(
    caller: AgentClient, answer: Answer, type_: str, status: str
) -> None:
    """ "Three answers for every type: approved, rejected, redirected." """
    pk = caller.deliver(type=type_)

    answer(pk, status, **WORDS[status])

    edit = {"updated_brief": "..."} if status == "redirected" else None
    polled = caller.poll(pk)
    assert (polled["status"], polled["feedback"]) == (status, WORDS[status]["feedback"])
    assert polled["edited_content"] == edit


def test_the_five_keys_are_always_there(caller: AgentClient, answer: Answer) -> None:
    """ "200, the five keys of the spec always present, `null` when empty" """
    pk = caller.deliver()

    before = caller.poll(pk)
    answer(pk)
    after = caller.poll(pk)

    five = ["delivery_id", "status", "feedback", "edited_content", "responded_at"]
    assert list(before) == list(after) == [*five, "expires_at", "expired", "late", "erased"]
    assert [before[key] for key in five] == [pk, "pending", None, None, None]
    assert [after[key] for key in five[:-1]] == [pk, "approved", None, None]
    assert after["responded_at"].endswith("Z")


def test_a_held_answer_is_not_readable(caller: AgentClient, answer: Answer) -> None:
    """ "An answer is held ... during which agents still see `pending`." """
    pk = caller.deliver(callback_webhook=None)
    before = caller.poll(pk), caller.sweep()

    answer(pk, "redirected", held=True, feedback="secret", edited_json='"secret"')

    assert (caller.poll(pk), caller.sweep()) == before
    assert caller.sweep(status="approved,rejected,redirected")["total"] == 0
    assert caller.sweep(status="pending")["total"] == 1
    assert caller.sweep(since=before[1]["next_since"])["deliveries"] == []
    response = Response.objects.get()
    assert (response.responded_at, response.sent_at, response.picked_up_at) == (None, None, None)
    assert not Callback.objects.exists(), "The callback falls due at the release."


@pytest.mark.parametrize("path", ["response/{}", "responses", "responses?status=redirected"])
def test_a_read_releases_without_any_worker(
    caller: AgentClient, answer: Answer, age: Age, path: str
) -> None:
    """ "by whichever comes first, the sweep or a read by that agent, so no worker is needed for the
    truth" """
    pk = caller.deliver()
    answer(pk, "redirected", held=True, feedback="Like this.")
    age(pk, seconds=10)
    before = timezone.now()

    body = caller.get(path.format(pk)).json()

    item = body["deliveries"][0] if "deliveries" in body else body
    assert (item["status"], item["feedback"]) == ("redirected", "Like this.")
    delivery, response = Delivery.objects.get(), Response.objects.get()
    assert response.responded_at == delivery.activity_at
    assert delivery.activity_at >= before, "Stamped at the release, not at the answer."


def test_a_sweep_with_since_returns_a_late_release(
    caller: AgentClient, answer: Answer, age: Age
) -> None:
    """ "and no sweep with `since` can pass it by" """
    first = caller.deliver()
    answer(first, held=True)
    caller.deliver()
    since = caller.sweep()["next_since"]
    age(first, seconds=10)

    sweep = caller.sweep(since=since, status="approved,rejected,redirected")

    assert [item["delivery_id"] for item in sweep["deliveries"]] == [first]


def test_another_agents_read_releases_nothing(
    caller: AgentClient, others: AgentClient, answer: Answer, age: Age
) -> None:
    pk = caller.deliver()
    answer(pk, held=True)
    age(pk, seconds=10)

    others.sweep()
    others.get(f"response/{pk}")

    assert Response.objects.held().exists()


def test_the_hold_ends_at_its_instant(make_delivery: MakeDelivery, answer: Answer) -> None:
    """ "held for `WAKE_HOLD_SECONDS` (default 10, 0 to 30 ...)" """
    at = timezone.now()
    response = answer(make_delivery(at=at), at=at, held=True)

    assert response.release_at == at + timedelta(seconds=10)
    assert release_due(at=response.release_at - timedelta(microseconds=1)) == 0
    assert release_due(at=response.release_at) == 1
    assert release_due(at=response.release_at) == 0, "Once."


@pytest.mark.parametrize(
    ("seconds_left", "hold"), [(3600, 10), (21, 10), (20, 10), (10, 5), (2, 1), (0.002, 0.001)]
)
def test_the_hold_is_at_most_half_of_the_time_to_the_deadline(
    make_delivery: MakeDelivery, answer: Answer, seconds_left: float, hold: float
) -> None:
    """ "at most half of what is left of the window" """
    at = timezone.now()
    delivery = make_delivery(at=at, timeout_seconds=3600)
    assert delivery.expires_at is not None

    answered_at = delivery.expires_at - timedelta(seconds=seconds_left)
    response = answer(delivery, at=answered_at, held=True)

    assert response.release_at == answered_at + timedelta(seconds=hold)


@pytest.mark.parametrize("seconds_late", [0, 1, 86_400])
def test_a_late_answer_gets_the_full_hold(
    make_delivery: MakeDelivery, answer: Answer, seconds_late: int
) -> None:
    """ "a late answer gets the full hold" """
    delivery = make_delivery(timeout_seconds=60)
    assert delivery.expires_at is not None

    at = delivery.expires_at + timedelta(seconds=seconds_late)
    response = answer(delivery, at=at, held=True)

    assert response.release_at == at + timedelta(seconds=10)


def test_an_answer_that_cannot_be_released_delays_no_other(
    caller: AgentClient, answer: Answer, age: Age
) -> None:
    broken, whole = caller.deliver(), caller.deliver()
    for pk in (broken, whole):
        answer(pk, held=True)
        age(pk, seconds=60)

    def refuse(sender: Any, response: Response, **more: Any) -> None:
        if str(response.delivery_id) == broken:
            raise IntegrityError

    signals.released.connect(refuse)
    try:
        statuses = [caller.poll(pk)["status"] for pk in (broken, whole)]
    finally:
        signals.released.disconnect(refuse)

    assert statuses == ["pending", "approved"]
    assert caller.poll(broken)["status"] == "approved", "And it is tried again."


def test_a_hold_of_0_releases_in_the_same_transaction(
    caller: AgentClient, answer: Answer, settings: Any
) -> None:
    """ "a hold of 0 releases in the same transaction" (docs/protocol.md, Answering)"""
    settings.WAKE_HOLD_SECONDS = 0
    pk = caller.deliver()

    response = answer(pk, held=True)

    assert response.responded_at == Delivery.objects.get().activity_at
    assert caller.poll(pk)["status"] == "approved"


def test_the_first_answer_wins_and_the_second_person_sees_it(
    caller: AgentClient, answer: Answer, alice: User, bob: User
) -> None:
    """ "First answer wins ...; the second human is told who answered, when and how." """
    pk = caller.deliver()
    first = answer(pk, "approved", by=bob, held=True)

    with pytest.raises(AlreadyAnswered) as refused:
        answer(pk, "rejected", by=alice, held=True)

    conflict = refused.value.response
    assert (conflict.by, conflict.by_name, conflict.status) == (bob, "bob", "approved")
    assert conflict.answered_at == first.answered_at
    assert Response.objects.get() == first


def test_a_double_click_is_one_answer(caller: AgentClient, answer: Answer) -> None:
    pk = caller.deliver()
    first = answer(pk, "rejected", held=True, feedback="No.")

    again = answer(pk, "rejected", held=True, feedback="No. ")

    assert again == first
    assert AuditEvent.objects.filter(event="delivery.answered").count() == 1
    with pytest.raises(AlreadyAnswered):
        answer(pk, "rejected", held=True, feedback="No, never.")


@pytest.mark.parametrize("content_hash", ["", "0" * 64])
def test_people_answer_the_content_that_they_saw(
    make_delivery: MakeDelivery, alice: User, content_hash: str
) -> None:
    """ "the form carries the content's hash; absent or different is refused" """
    delivery = make_delivery()

    with pytest.raises(ContentChanged):
        respond(delivery, by=alice, status="approved", content_hash=content_hash, at=timezone.now())

    assert not Response.objects.exists()


@pytest.mark.parametrize(
    "hash_field",
    [
        {"type": "question"},
        {"headline": "Another"},
        {"summary": "Another."},
        {"details_json": '"another"'},
        {"assumption": "I go on."},
        {"on_timeout": "abort"},
    ],
)
def test_the_hash_covers_everything_that_a_decision_depends_on(
    make_delivery: MakeDelivery, hash_field: dict[str, str]
) -> None:
    """Each delivery has a nonce of its own, so the same nonce is put into both."""
    delivery, other = make_delivery(), make_delivery(**hash_field)
    assert other.content_hash != delivery.content_hash

    other.nonce = delivery.nonce

    assert delivery.content_hash == content_digest(delivery, files=[])
    assert content_digest(other, files=[]) != delivery.content_hash


@pytest.mark.parametrize("feedback", ["", "  \n "])
def test_a_redirect_needs_feedback_or_an_edit(
    make_delivery: MakeDelivery, answer: Answer, feedback: str
) -> None:
    """ "redirect needs feedback or an edit" """
    with pytest.raises(NothingToSend):
        answer(make_delivery(), "redirected", feedback=feedback)

    assert answer(make_delivery(), "redirected", edited_json='""').edited_content == ""


@pytest.mark.parametrize("status", ["approved", "rejected"])
def test_only_a_redirect_may_carry_an_edit(
    make_delivery: MakeDelivery, answer: Answer, status: str
) -> None:
    """ "`edited_content` is non-null only when redirected" """
    with pytest.raises(EditNotWanted):
        answer(make_delivery(), status, edited_json='"text"')


@pytest.mark.parametrize("edit", ["[]", "17", "1.5", "true", "null", '[{"a": 1}]'])
def test_an_edit_is_never_an_array_number_or_boolean(
    make_delivery: MakeDelivery, answer: Answer, edit: str
) -> None:
    """ "never an array, number or boolean at the top" """
    with pytest.raises(BadEdit):
        answer(make_delivery(), "redirected", edited_json=edit)

    assert not Response.objects.exists()


@pytest.mark.parametrize("status", ["pending", "done", "", "APPROVED"])
def test_other_answers_are_refused(
    make_delivery: MakeDelivery, answer: Answer, status: str
) -> None:
    with pytest.raises(ValueError, match="no answer"):
        answer(make_delivery(), status)


def test_readers_and_outsiders_do_not_answer(
    make_delivery: MakeDelivery, rita: User, mallory: User
) -> None:
    delivery = make_delivery()

    for nobody in (rita, mallory):
        with pytest.raises(NotAllowed):
            respond(
                delivery,
                by=nobody,
                status="approved",
                content_hash=delivery.content_hash,
                at=timezone.now(),
            )

    assert not Response.objects.exists()
