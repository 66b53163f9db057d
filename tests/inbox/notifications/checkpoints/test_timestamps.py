"""A time-stamp authority stamps checkpoints. Only a stamp that covers the checkpoint counts."""

from __future__ import annotations

import base64
import io
import shutil
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import CheckpointSending, LogCheckpoint
from tests.inbox.notifications.checkpoints.authority import Authority
from tests.inbox.notifications.checkpoints.conftest import Clock
from tests.wake.callbacks.receiver import Receiver, answering

pytest.importorskip("rfc3161_client", reason="the extra `timestamps` is not installed")
pytestmark = pytest.mark.django_db

Checkpoint = Callable[[], LogCheckpoint]
Send = Callable[[], int]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def receiver(
    authority: Authority, settings: Any, start_receiver: Callable[..., Receiver]
) -> Receiver:
    receiver = start_receiver()
    settings.WAKE_CHECKPOINT_TIMESTAMPS = f"http://127.0.0.1:{receiver.port}/tsr"
    settings.WAKE_CHECKPOINT_TIMESTAMP_ROOTS = str(authority.root)
    return receiver


def stamps(authority: Authority, receiver: Receiver) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        authority(request, receiver.received[-1].body)

    receiver.then(answer)


def test_a_stamp_is_stored_beside_the_checkpoint(
    authority: Authority, receiver: Receiver, checkpoint: Checkpoint, send: Send, tmp_path: Path
) -> None:
    made = checkpoint()
    stamps(authority, receiver)

    assert send() == 1

    query = receiver.received[0]
    assert query.headers["Content-Type"] == "application/timestamp-query"
    stamp = base64.b64decode(CheckpointSending.objects.get().result)
    assert authority.verifies(made.note.encode(), stamp)

    folder = tmp_path / "evidence"
    for size in ([], ["--size", str(made.size)]):
        call_command("log_checkpoint", "--stamped", str(folder), *size, stdout=io.StringIO())
        assert authority.verifies(
            (folder / "checkpoint").read_bytes(), (folder / "checkpoint.tsr").read_bytes()
        )
        shutil.rmtree(folder)
    with pytest.raises(CommandError, match="No checkpoint of 2 entries has a time stamp yet"):
        call_command(
            "log_checkpoint", "--stamped", str(folder), "--size", "2", stdout=io.StringIO()
        )


def test_without_a_stamp_there_is_nothing_to_write(checkpoint: Checkpoint, tmp_path: Path) -> None:
    checkpoint()

    with pytest.raises(CommandError, match="No checkpoint has a time stamp yet"):
        call_command("log_checkpoint", "--stamped", str(tmp_path / "x"), stdout=io.StringIO())


@pytest.mark.parametrize(
    "what", ["another text", "an earlier stamp", "another authority", "no stamp", "too long"]
)
def test_a_stamp_that_does_not_cover_the_checkpoint_is_not_stored(
    what: str,
    authority: Authority,
    receiver: Receiver,
    checkpoint: Checkpoint,
    send: Send,
    tmp_path: Path,
    clock: Clock,
) -> None:
    made = checkpoint()
    if what == "another authority":
        stamps(Authority(tmp_path / "other"), receiver)
    else:
        answer = {
            "another text": authority.stamp_of(b"Another text."),
            "an earlier stamp": authority.stamp_of(made.note.encode()),  # with another nonce
            "no stamp": b"",
            "too long": b"0" * 100_000,
        }[what]
        receiver.then(answering(200, answer))

    assert send() == 0

    row = CheckpointSending.objects.get()
    assert row.error.startswith("The time stamp does not count:")
    assert (row.result, row.sent_at) == ("", None)
    stamps(authority, receiver)
    clock.at += timedelta(minutes=1)
    assert send() == 1


@pytest.mark.parametrize("text", ["", "no certificate", None])
def test_without_roots_nothing_counts(
    text: str | None,
    authority: Authority,
    receiver: Receiver,
    checkpoint: Checkpoint,
    send: Send,
) -> None:
    authority.root.unlink()
    if text is not None:
        authority.root.write_text(text)
    checkpoint()
    stamps(authority, receiver)

    assert send() == 0

    error = CheckpointSending.objects.get().error
    assert error == "WAKE_CHECKPOINT_TIMESTAMP_ROOTS names no file with certificates."
