"""Callers receive pushes about their tasks in the version that they speak."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent
from relay.cards import publishing
from relay.models import Artifact, Card, Message, PushConfig, PushNotification, Task
from relay.protocol import dialects
from relay.protocol.dialects import Incoming, PushIn
from relay.protocol.fields import InvalidParams
from relay.protocol.versions import Version
from relay.tasks import lifecycle, pushes, transitions
from tests.relay.calling import queue_pushes
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.sending import FakeDns
from tests.wake.retention.stored import tables_with
from wake.callbacks.http_client import HttpClient
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt

URL = "https://hooks.example.com/a2a?for=saffron"
State = Task.State
Sent = Callable[..., Task]


@pytest.fixture
def card(agent: Agent) -> Card:
    return publishing.publish(agent, by=SYSTEM, at=timezone.now(), access=Card.Access.PUBLIC)


@pytest.fixture
def sent(card: Card) -> Sent:
    """Creates a waiting task with these push configs."""

    def send(*configs: PushIn) -> Task:
        incoming = Incoming(message_id="m-1", parts=[{"text": "Review it"}])
        task = lifecycle.send(card, None, incoming, at=timezone.now())
        for config in configs:
            pushes.create(task, config, at=timezone.now())
        return task

    return send


def push(config_id: str = "mine", *, url: str = URL, **more: Any) -> PushIn:
    return PushIn(config_id=config_id, url=url, **more)


def move(task: Task, to: Task.State, text: str = "") -> Task:
    at = timezone.now()
    locked = transitions.lock(task.pk)
    message = (
        transitions.add_message(locked, Message.Source.AGENT, [{"text": text}], at=at)
        if text
        else None
    )
    return transitions.transition(task.pk, to, message=message, at=at)


def make_artifact(task: Task, artifact_id: str = "report") -> None:
    at = timezone.now()
    task = transitions.lock(task.pk)
    parts = json.dumps([{"text": "## All checks passed"}])
    artifact = Artifact.objects.create(
        task=task, artifact_id=artifact_id, name="report.md", parts_json=parts, created_at=at
    )
    piece = transitions.Piece(artifact, 0, 1, is_last=True)
    transitions.emit_artifacts(task, [piece], at=at)


def bodies() -> list[Any]:
    """Queues what is due, and returns all queued pushes, oldest first."""
    queue_pushes()
    rows = PushNotification.objects.order_by("generation", "pk").select_related("callback")
    return [json.loads(bytes(row.callback.body)) for row in rows]


@transaction.atomic
def complete(task: Task) -> None:
    move(task, State.WORKING)
    make_artifact(task)
    move(task, State.COMPLETED, "Done.")


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


def test_a_task_that_waits_for_a_person_is_pushed_whole(sent: Sent) -> None:
    task = sent(push())

    move(task, State.INPUT_REQUIRED, "Which colour?")

    (pushed,) = bodies()
    assert pushed["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert pushed["task"]["status"]["message"]["parts"] == [{"text": "Which colour?"}]


def test_a_config_sent_with_a_message_gets_the_following_events(card: Card) -> None:
    incoming = Incoming(message_id="m-1", parts=[{"text": "Review it"}])

    task = lifecycle.send(card, None, incoming, push=push(), at=timezone.now())
    assert bodies() == []
    move(task, State.WORKING)

    (pushed,) = bodies()
    assert pushed["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING"


def test_the_callers_own_message_is_not_pushed(sent: Sent, card: Card) -> None:
    task = sent(push())
    move(task, State.INPUT_REQUIRED, "Which colour?")
    more = Incoming(message_id="m-2", parts=[{"text": "Hurry"}], task_id=str(task.pk))

    lifecycle.send(card, None, more, at=timezone.now())

    assert len(bodies()) == 1


def test_it_arrives_with_the_credentials_and_the_token(
    sent: Sent, start_receiver: Callable[..., Receiver]
) -> None:
    receiver = start_receiver()
    task = sent(
        push(url=receiver.url, token="a-token", scheme="Bearer", credentials="saffron"),
        push("theirs", url=receiver.url + "/bare"),
        push("seed", url=receiver.url + "/seed", token="a-token", scheme="bearer"),
        push("older", url=receiver.url + "/older", version="0.3"),
    )

    move(task, State.COMPLETED, "Done.")
    queue_pushes()
    send_due()

    requests = {one.path: one for one in receiver.received}
    assert requests["/hook"].headers["Authorization"] == "Bearer saffron"
    assert requests["/hook"].headers["X-A2A-Notification-Token"] == "a-token"
    assert requests["/hook"].headers["Content-Type"] == "application/a2a+json"
    assert requests["/hook/older"].headers["Content-Type"] == "application/json"
    assert requests["/hook"].json == bodies()[0]
    assert not {"Authorization", "X-A2A-Notification-Token"} & requests["/hook/bare"].headers.keys()
    assert requests["/hook/seed"].headers["Authorization"] == "bearer a-token"
    assert not Callback.objects.unfinished().exists()


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_its_secrets_are_encrypted_and_never_returned(sent: Sent, version: Version) -> None:
    task = sent(push(token="cardamom", scheme="Bearer", credentials="turmeric", version=version))
    move(task, State.WORKING)
    queue_pushes()

    pushed = json.dumps(dialects.write_push_config(pushes.get(task, "mine"), version))

    assert "Bearer" in pushed
    assert "cardamom" not in pushed
    assert "turmeric" not in pushed
    assert tables_with("cardamom") == tables_with("turmeric") == set()


def test_its_secrets_are_rotated_with_the_others(sent: Sent, settings: Any) -> None:
    new = "another-key-of-thirty-two-characters"
    task = sent(push(token="cardamom", scheme="Bearer", credentials="turmeric"))
    settings.WAKE_ENCRYPTION_KEYS = [new, *settings.WAKE_ENCRYPTION_KEYS]

    call_command("rotate_encryption", stdout=StringIO())

    settings.WAKE_ENCRYPTION_KEYS = [new]
    move(task, State.WORKING)
    queue_pushes()
    assert Callback.objects.get().headers["Authorization"] == "Bearer turmeric"
    assert Callback.objects.get().headers["X-A2A-Notification-Token"] == "cardamom"


def test_a_push_that_cannot_be_decrypted_stops_no_other_push(
    sent: Sent, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    task = sent(push(token="cardamom"))
    lost = pushes.get(task)
    settings.WAKE_ENCRYPTION_KEYS = ["another-key-of-thirty-two-characters"]
    pushes.create(task, push("theirs", token="turmeric"), at=timezone.now())

    moved = move(task, State.COMPLETED, "Done.")
    queue_pushes()

    assert moved.state == State.COMPLETED
    assert PushNotification.objects.get().config == pushes.get(task, "theirs")
    assert f"No push of task {task.pk} to config {lost.pk}" in caplog.text
    pushes.create(task, push(token="cardamom"), at=timezone.now())


@pytest.mark.usefixtures("encrypting")
def test_an_unreadable_address_or_artifact_stops_no_other_push(sent: Sent, settings: Any) -> None:
    task = sent(push())
    make_artifact(task)
    queue_pushes()
    settings.WAKE_ENCRYPTION_KEYS = ["another-key-of-thirty-two-characters"]
    pushes.create(task, push("theirs"), at=timezone.now())

    assert lifecycle.cancel(task, by=SYSTEM, at=timezone.now()).state == State.CANCELED
    queue_pushes()
    assert PushNotification.objects.count() == 1, "That of the artifact, from before."


def test_the_same_id_replaces_and_no_id_gets_one(sent: Sent) -> None:
    task = sent(push(), push(url="https://other.example.com/"), push(""), push(""))

    configs = pushes.get_all(task)

    assert configs[0].url == "https://other.example.com/"
    assert len({config.config_id for config in configs}) == 3
    assert all(config.config_id for config in configs)


def test_0_3_has_one_config_without_an_id(sent: Sent) -> None:
    task = sent(push("", version="0.3"), push("", version="0.3", url="https://b.example.com/"))

    assert pushes.get(task).config_id == str(task.pk)
    assert [config.url for config in pushes.get_all(task)] == ["https://b.example.com/"]


def test_a_config_of_an_ended_task_gets_no_pushes(sent: Sent) -> None:
    task = sent()
    move(task, State.COMPLETED, "Done.")

    config = pushes.create(task, push(), at=timezone.now())

    assert pushes.get(task, "mine") == config
    queue_pushes()
    assert not Callback.objects.exists()


def test_nothing_more_is_queued_for_one_that_was_deleted(sent: Sent) -> None:
    task = sent(push())
    move(task, State.WORKING)
    queue_pushes()

    pushes.delete(task, "mine")
    pushes.delete(task, "mine")
    move(task, State.COMPLETED, "Done.")

    assert pushes.get_all(task) == []
    with pytest.raises(pushes.PushConfigNotFound):
        pushes.get(task, "mine")
    assert len(bodies()) == 1, "What was queued before is still sent."


def test_the_config_of_another_task_is_not_found(sent: Sent) -> None:
    sent(push())

    with pytest.raises(pushes.PushConfigNotFound):
        pushes.get(sent(), "mine")


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://user:secret@hooks.example.com/",
        "file:///etc/passwd",
        "hooks.example.com",
    ],
)
def test_a_url_that_may_not_be_called_is_refused_at_once(sent: Sent, url: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        sent(push(url=url))

    assert refused.value.field == "url"
    assert not PushConfig.objects.exists()


def test_a_host_is_resolved_when_a_push_is_sent_and_not_before(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The creator of a config learns nothing about what host names resolve to on this server, and
    the address is checked when a push is sent, in case DNS has changed since."""
    looked_up: list[Any] = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *asked, **_: looked_up.append(asked))
    dns = FakeDns(["10.0.0.1"], ["93.184.216.34", "169.254.169.254"])

    task = sent(push(), push("theirs", url="https://rebound.example.com/"))
    assert pushes.get(task).url == URL
    assert (looked_up, dns.lookups) == ([], [])
    move(task, State.COMPLETED, "Done.")
    assert (looked_up, dns.lookups) == ([], [])
    queue_pushes()
    send_due(open_client=lambda: HttpClient(dns=dns))

    assert looked_up == []
    assert sorted(dns.lookups) == ["hooks.example.com", "rebound.example.com"]
    errors = CallbackAttempt.objects.values_list("status_code", "error")
    assert [code for code, _ in errors] == [None, None]
    assert all("resolves to a private or reserved address" in error for _, error in errors)


def test_a_push_does_not_follow_redirects(
    sent: Sent, start_receiver: Callable[..., Receiver]
) -> None:
    """Trap 13: what was checked is where it goes."""
    first, second = start_receiver(), start_receiver()
    first.then(answering(307, Location=second.url))
    task = sent(push(url=first.url, token="saffron"))

    move(task, State.COMPLETED, "Done.")
    queue_pushes()
    send_due()

    assert (len(first.received), second.received) == (1, [])
    assert CallbackAttempt.objects.get().error == "redirects are not followed"


def test_loopback_is_for_development_only(sent: Sent, settings: Any) -> None:
    sent(push(url="http://127.0.0.1:9999/"))
    settings.DEVELOPMENT = False

    with pytest.raises(InvalidParams):
        sent(push(url="http://127.0.0.1:9999/"))


def test_the_push_configs_of_a_task_are_limited(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushes, "CONFIGS_AT_MOST", 2)
    task = sent(push("a"), push("b"))

    pushes.create(task, push("b"), at=timezone.now())
    with pytest.raises(InvalidParams):
        pushes.create(task, push("c"), at=timezone.now())


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
