"""Callers receive pushes about their tasks in the version that they speak."""

from __future__ import annotations

import json

from django.db import transaction
from django.utils import timezone

from relay.models import Card, Task
from relay.protocol.dialects import Incoming
from relay.tasks import pushes, sending
from tests.relay.calling import queue_pushes
from tests.relay.tasks.pushes.pushing import (
    URL,
    Sent,
    State,
    bodies,
    complete,
    make_artifact,
    move,
    push,
)
from wake.models import Callback


def test_1_0_gets_one_member_per_change_and_the_whole_task_at_the_end(
    sent: Sent,
) -> None:
    task = sent(push(version="1.0"))

    complete(task)

    working, update, ended = bodies()
    ids = {"taskId": str(task.pk), "contextId": task.context.context_id}
    assert list(working) == ["statusUpdate"]
    assert working["statusUpdate"].items() >= ids.items()
    assert working["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING"
    assert list(update) == ["artifactUpdate"]
    assert update["artifactUpdate"]["artifact"]["artifactId"] == "report"
    assert list(ended) == ["task"]
    assert ended["task"]["id"] == str(task.pk)
    assert ended["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert ended["task"]["status"]["message"]["parts"] == [{"text": "Done."}]
    assert ended["task"]["artifacts"][0]["parts"] == [{"text": "## All checks passed"}]
    assert "kind" not in json.dumps(ended)


def test_0_3_gets_the_bare_task_each_time(sent: Sent) -> None:
    task = sent(push(version="0.3"))

    complete(task)

    pushed = bodies()
    assert {body["kind"] for body in pushed} == {"task"}
    assert {body["id"] for body in pushed} == {str(task.pk)}
    assert [body["status"]["state"] for body in pushed] == ["working", "completed"]
    assert "artifacts" not in pushed[0]
    assert pushed[1]["artifacts"][0]["parts"][0]["kind"] == "text"


def test_a_large_artifact_is_whole_in_its_own_push_and_a_link_in_the_push_of_the_task(
    sent: Sent,
) -> None:
    task = sent(push(version="1.0"))

    with transaction.atomic():
        move(task, State.WORKING)
        make_artifact(task, text="x" * 9_000_000)
        Task.objects.filter(pk=task.pk).update(stored_bytes=9_000_000)
        move(task, State.COMPLETED, "Done.")

    *_, update, whole = bodies()
    (piece,) = update["artifactUpdate"]["artifact"]["parts"]
    (linked,) = whole["task"]["artifacts"][0]["parts"]
    assert len(piece["text"]) == 9_000_000
    assert "text" not in linked
    assert linked["url"]


def test_a_task_that_waits_for_a_person_is_pushed_whole(sent: Sent) -> None:
    task = sent(push())

    move(task, State.INPUT_REQUIRED, "Which colour?")

    (pushed,) = bodies()
    assert pushed["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert pushed["task"]["status"]["message"]["parts"] == [{"text": "Which colour?"}]


def test_a_config_sent_with_a_message_gets_the_following_events(card: Card) -> None:
    incoming = Incoming(message_id="m-1", parts=[{"text": "Review it"}])

    task = sending.send(card, None, incoming, push=push(), at=timezone.now())
    assert bodies() == []
    move(task, State.WORKING)

    (pushed,) = bodies()
    assert pushed["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING"


def test_the_callers_own_message_is_not_pushed(sent: Sent, card: Card) -> None:
    task = sent(push())
    move(task, State.INPUT_REQUIRED, "Which colour?")
    more = Incoming(message_id="m-2", parts=[{"text": "Hurry"}], task_id=str(task.pk))

    sending.send(card, None, more, at=timezone.now())

    assert len(bodies()) == 1


def test_a_transition_that_is_rolled_back_is_never_pushed(sent: Sent) -> None:
    task = sent(push())

    with transaction.atomic():
        move(task, State.COMPLETED, "Done.")
        transaction.set_rollback(True)

    queue_pushes()
    assert not Callback.objects.exists()


def test_pushes_are_erased_with_their_task(sent: Sent) -> None:
    task, other = sent(push()), sent(push())
    move(task, State.WORKING, "Nutmeg.")
    move(other, State.WORKING)
    queue_pushes()
    at = timezone.now()

    pushes.erase([task.pk], at=at)

    gone, remaining = (
        Callback.objects.get(about=task.pk),
        Callback.objects.get(about=other.pk),
    )
    assert (gone.erased_at, gone.due_at, bytes(gone.body), gone.url) == (at, None, b"", "")
    assert pushes.get_all(task) == []
    assert remaining.due_at is not None
    assert remaining.url == URL
