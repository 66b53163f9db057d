"""A witness cosigns a checkpoint that is consistent with the earlier checkpoints that the witness
has seen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from accounts.log.checkpoints import checkpoints, notes
from accounts.models import CheckpointSending, LogCheckpoint
from inbox.notifications.checkpoints.witnesses import Witness as Configured
from tests.accounts.log.checkpoints.witness import Witness
from tests.inbox.notifications.checkpoints.conftest import HOUR, Clock
from tests.wake.callbacks.receiver import Receiver, answering

pytestmark = pytest.mark.django_db

Checkpoint = Callable[[], LogCheckpoint]
Send = Callable[[], int]


class Served:
    """Serves a witness over HTTP. The witness knows the key of this log."""

    def __init__(self, receiver: Receiver, log_key: str) -> None:
        self.receiver, self.witness = receiver, Witness(log_key=log_key)

    def expect(self, requests: int = 1) -> None:
        self.receiver.then(*[self._answer] * requests)

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        self.witness(request, self.receiver.received[-1].body)

    @property
    def old_sizes(self) -> list[int]:
        bodies = (post.body.decode() for post in self.receiver.received)
        return [int(body.partition("\n")[0].removeprefix("old ")) for body in bodies]


@pytest.fixture
def first(checkpoint: Checkpoint) -> LogCheckpoint:
    return checkpoint()


@pytest.fixture
def served(first: LogCheckpoint, settings: Any, start_receiver: Callable[..., Receiver]) -> Served:
    receiver = start_receiver()
    served = Served(receiver, checkpoints.verifier_keys()[0])
    url = f"http://127.0.0.1:{receiver.port}/submit/"
    settings.WAKE_CHECKPOINT_WITNESSES = [f"{served.witness.verifier_key} {url}"]
    return served


def row(size: int) -> CheckpointSending:
    return CheckpointSending.objects.get(checkpoint=size)


def test_a_cosignature_is_stored_with_the_checkpoint(
    served: Served, first: LogCheckpoint, send: Send
) -> None:
    served.expect()

    assert send() == 1

    assert served.receiver.received[0].path == "/submit/add-checkpoint"
    assert row(3).name == served.witness.name
    assert checkpoints.cosigned_note(first) == first.note + row(3).result
    key = notes.VerifierKey.parse(served.witness.verifier_key)
    text = notes.text_of(first.note)
    assert notes.cosignatures(row(3).result, text=text, key=key) == row(3).result


def test_the_next_checkpoint_is_proven_from_the_last_one(
    served: Served, checkpoint: Checkpoint, send: Send
) -> None:
    served.expect(4)
    assert send() == 1
    for _ in range(3):
        checkpoint()

    assert send() == 3

    assert served.old_sizes == [0, 3, 6, 9]
    assert served.witness.size == 12


def test_a_witness_that_has_seen_a_part_says_how_much(
    served: Served, checkpoint: Checkpoint, send: Send
) -> None:
    served.expect(5)
    send()
    checkpoint()
    send()
    CheckpointSending.objects.all().delete()  # as after a restore
    checkpoint()

    assert send() == 1

    assert served.old_sizes == [0, 3, 0, 6]
    assert row(9).result


def test_a_cosignature_that_was_lost_on_the_way_is_asked_for_again(
    served: Served, send: Send, clock: Clock
) -> None:
    served.expect(3)
    send()
    CheckpointSending.objects.update(due_at=clock.at, sent_at=None, result="")

    assert send() == 1

    assert served.old_sizes == [0, 0, 3]


def test_a_checkpoint_older_than_the_witness_has_seen_is_given_up(
    served: Served, checkpoint: Checkpoint, send: Send
) -> None:
    served.expect(2)
    served.witness.size = 5

    assert send() == 0

    assert row(3).due_at is None
    assert row(3).error == "The witness has seen 5 entries already."


def test_another_log_of_the_same_origin_is_not_cosigned(served: Served, send: Send) -> None:
    served.expect(2)
    served.witness.size, served.witness.root = 2, bytes(32)

    assert send() == 0

    assert row(3).error == "The server answered with HTTP 422."
    assert row(3).due_at is not None


def test_a_witness_that_knows_another_root_is_no_success(
    served: Served, send: Send, clock: Clock
) -> None:
    served.expect(4)
    send()
    served.witness.root = bytes(32)
    CheckpointSending.objects.update(due_at=clock.at, sent_at=None, result="")

    assert send() == 0

    assert row(3).error == "The server answered with HTTP 409."


def test_a_cosignature_of_another_key_does_not_count(
    served: Served, first: LogCheckpoint, send: Send
) -> None:
    served.expect()
    served.witness.signs_with = Ed25519PrivateKey.generate()

    assert send() == 0

    assert row(3).error == "The witness returned no valid cosignature of its key."
    assert checkpoints.cosigned_note(first) == first.note


@pytest.mark.parametrize("body", [b"", b"-1\n", b"9" * 30, b"\xff", b"3 4"])
def test_a_409_without_a_size_is_an_error(body: bytes, served: Served, send: Send) -> None:
    served.receiver.then(answering(409, body))

    assert send() == 0

    assert row(3).error == "The witness refused the checkpoint (HTTP 409)."


def test_a_witness_that_is_away_gets_every_checkpoint_later(
    served: Served, checkpoint: Checkpoint, send: Send, clock: Clock
) -> None:
    served.receiver.then(answering(502))
    send()
    checkpoint()
    served.expect(2)

    clock.at += HOUR

    assert send() == 2
    assert served.old_sizes == [0, 0, 3]
    assert row(3).attempts == 2
    assert clock.at - HOUR >= row(6).checkpoint.made_at - timedelta(hours=2)


def test_a_key_with_the_type_of_logs_names_a_witness_too() -> None:
    text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"

    witness = Configured.parse(f"{text}  https://witness.example/prefix/ ")

    assert (witness.key.name, witness.url) == ("PeterNeumann", "https://witness.example/prefix")
