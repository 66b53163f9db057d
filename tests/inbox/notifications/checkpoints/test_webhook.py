"""Each checkpoint is posted to the webhook, in order, until it arrives."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from accounts.models import CheckpointSending, LogCheckpoint
from tests.inbox.notifications.checkpoints.conftest import Clock
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.verifying import verify_standard

pytestmark = pytest.mark.django_db

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
Checkpoint = Callable[[], LogCheckpoint]
Send = Callable[[], int]


@pytest.fixture(autouse=True)
def webhook(settings: Any, start_receiver: Callable[..., Receiver]) -> Receiver:
    receiver = start_receiver()
    settings.WAKE_CHECKPOINT_WEBHOOK = receiver.url
    settings.WAKE_CHECKPOINT_WEBHOOK_SECRET = SECRET
    return receiver


def test_a_checkpoint_is_posted_signed(
    webhook: Receiver, checkpoint: Checkpoint, send: Send, clock: Clock
) -> None:
    made = checkpoint()

    assert (send(), send()) == (1, 0)

    (post,) = webhook.received
    assert post.json["type"] == "wake.checkpoint"
    assert (post.json["size"], post.json["root"]) == (made.size, made.root)
    assert post.json["note"] == made.note
    headers = {name.lower(): value for name, value in post.headers.items()}
    assert headers["webhook-id"] == "checkpoint_3"
    assert verify_standard(post.body, headers, secret=SECRET, at=clock.at)


def test_one_that_did_not_arrive_is_sent_again_and_the_next_waits_for_it(
    webhook: Receiver, checkpoint: Checkpoint, send: Send, clock: Clock
) -> None:
    webhook.then(answering(503))
    checkpoint()
    assert send() == 0
    checkpoint()
    clock.at -= timedelta(hours=1)
    assert send() == 0  # the first checkpoint waits for a minute
    row = CheckpointSending.objects.get(checkpoint=3)
    assert (row.attempts, row.error) == (1, "The server answered with HTTP 503.")

    clock.at += timedelta(minutes=1)

    assert send() == 2
    assert [post.json["size"] for post in webhook.received] == [3, 3, 6]
    row.refresh_from_db()
    assert (row.attempts, row.error, row.due_at) == (2, "", None)
    assert row.sent_at == clock.at


def test_a_server_that_is_away_is_asked_less_and_less(
    webhook: Receiver, checkpoint: Checkpoint, send: Send, clock: Clock
) -> None:
    webhook.stop()
    checkpoint()

    waits = []
    for _ in range(6):
        send()
        row = CheckpointSending.objects.get()
        assert row.due_at is not None
        waits.append((row.due_at - clock.at).total_seconds() / 60)
        clock.at = row.due_at

    assert waits == [1, 5, 15, 60, 180, 180]
    assert row.error == "Not sent: could not connect: Connection refused."
    assert row.attempts == 6


def test_private_addresses_are_refused(
    webhook: Receiver, checkpoint: Checkpoint, send: Send, settings: Any
) -> None:
    settings.WAKE_NOTIFICATION_HOSTS, settings.DEVELOPMENT = frozenset(), False
    checkpoint()

    assert send() == 0

    assert webhook.received == []
    assert CheckpointSending.objects.get().error.startswith("Not sent:")


def test_a_new_destination_begins_with_the_newest_checkpoint(
    webhook: Receiver, checkpoint: Checkpoint, send: Send, settings: Any
) -> None:
    settings.WAKE_CHECKPOINT_WEBHOOK = ""
    checkpoint()
    assert send() == 0
    checkpoint()
    settings.WAKE_CHECKPOINT_WEBHOOK = webhook.url

    assert send() == 1

    assert [post.json["size"] for post in webhook.received] == [6]


def test_a_removed_destination_is_given_up(
    webhook: Receiver, checkpoint: Checkpoint, send: Send, settings: Any, clock: Clock
) -> None:
    webhook.then(answering(500))
    checkpoint()
    send()
    settings.WAKE_CHECKPOINT_WEBHOOK = ""
    clock.at += timedelta(hours=1)

    assert send() == 0

    row = CheckpointSending.objects.get()
    assert (row.due_at, row.sent_at) == (None, None)
    assert row.error == "This destination is no longer configured."


def test_a_destination_that_is_away_blocks_no_other(
    webhook: Receiver,
    checkpoint: Checkpoint,
    send: Send,
    settings: Any,
    start_receiver: Callable[..., Receiver],
) -> None:
    settings.WAKE_CHECKPOINT_GIT = "/nowhere/at/all.git"
    settings.WAKE_CHECKPOINT_TIMESTAMPS = "http://127.0.0.1:9/tsr"
    checkpoint()

    assert send() == 1

    assert len(webhook.received) == 1
    failed = CheckpointSending.objects.filter(sent_at=None).order_by("kind")
    assert [row.kind for row in failed] == ["git", "timestamp"]
    assert all(row.error and row.due_at for row in failed)
