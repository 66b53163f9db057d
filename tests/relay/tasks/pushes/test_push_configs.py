"""Push configs keep their secrets, and belong to one task."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.audit import SYSTEM
from relay.models import PushNotification
from relay.protocol import dialects
from relay.protocol.fields import InvalidParams
from relay.protocol.versions import Version
from relay.tasks import lifecycle, pushes
from tests.relay.calling import queue_pushes
from tests.relay.tasks.pushes.pushing import (
    Sent,
    State,
    bodies,
    make_artifact,
    move,
    push,
)
from tests.wake.callbacks.receiver import Receiver
from tests.wake.retention.stored import tables_with
from wake.callbacks.sending import send_due
from wake.models import Callback


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


def test_the_push_configs_of_a_task_are_limited(sent: Sent) -> None:
    task = sent(push("b"), *(push(f"a{number}") for number in range(pushes.MAX_CONFIGS - 1)))

    pushes.create(task, push("b"), at=timezone.now())
    with pytest.raises(InvalidParams):
        pushes.create(task, push("c"), at=timezone.now())


def test_a_config_of_an_ended_task_gets_no_pushes(sent: Sent) -> None:
    task = sent()
    move(task, State.COMPLETED, "Done.")

    config = pushes.create(task, push(), at=timezone.now())

    assert pushes.get(task, "mine") == config
    queue_pushes()
    assert not Callback.objects.exists()
