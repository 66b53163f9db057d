"""The log has a signed checkpoint for each hour in which the log grew. Everyone can read the
checkpoint."""

from __future__ import annotations

import base64
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.log import signed_tree, tree
from accounts.log.checkpoints import checkpoints
from accounts.models import (
    AuditEvent,
    CheckpointSending,
    LogCheckpoint,
    LogKey,
    LogTile,
    LogTree,
)
from tests.accounts.log.checkpoints.growing import grow
from tests.fixtures.strict_client import Client

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def command(name: str, *options: str) -> str:
    out = io.StringIO()
    call_command(name, *options, stdout=out)
    return out.getvalue()


def test_a_checkpoint_says_the_size_and_the_root() -> None:
    size = grow(300)

    made = checkpoints.make_due(at=AT)

    assert made is not None
    origin, number, root, empty, signature = made.note.splitlines()
    assert (origin, number, empty) == ("127.0.0.1:8000/log", "300", "")
    assert base64.b64decode(root) == tree.root(size) == bytes.fromhex(made.root)
    name, _, key = checkpoints.verifier_keys()[0].split("+", 2)
    assert signature.split(" ")[:2] == ["—", name]
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key)[1:])
    text = f"{origin}\n{number}\n{root}\n"
    public.verify(base64.b64decode(signature.split(" ")[2])[4:], text.encode())


def test_it_is_made_each_hour_if_the_log_grew() -> None:
    assert checkpoints.make_due(at=AT) is None
    grow(2)
    made = [checkpoints.make_due(at=AT), checkpoints.make_due(at=AT + HOUR)]
    grow(1)
    made += [checkpoints.make_due(at=AT + HOUR - timedelta(seconds=1))]
    made += [checkpoints.make_due(at=AT + HOUR)]

    assert [each and each.size for each in made] == [2, None, None, 3]


@pytest.mark.parametrize(
    "change", ["another tree", "set back", "not signed", "another root", "no tiles"]
)
def test_a_log_that_was_changed_gets_no_checkpoint(
    change: str, caplog: pytest.LogCaptureFixture
) -> None:
    grow(5)
    checkpoints.make_due(at=AT)
    match change:
        case "another tree" | "set back":
            LogTile.objects.all().delete()
            LogTree.objects.all().delete()
            grow(6 if change == "another tree" else 4, kind="forged")
        case "not signed":
            grow(1)
            LogTree.objects.update(signature="")
        case "another root":
            grow(1)
            stored = LogTree.objects.get()
            stored.root = bytes(32)
            signed_tree.sign_again(stored)
        case "no tiles":
            grow(1)
            LogTile.objects.all().delete()

    assert checkpoints.make_due(at=AT + HOUR) is None

    assert LogCheckpoint.objects.count() == 1
    assert "was changed since its newest checkpoint" in caplog.text
    with pytest.raises(CommandError, match="was changed since its newest checkpoint"):
        command("log_checkpoint", "--now")


def test_everyone_can_read_the_newest_one(client: Client) -> None:
    before = client.get("/log/checkpoint")
    grow(1)
    checkpoints.make_due(at=AT)
    grow(1)
    made = checkpoints.make_due(at=AT + HOUR)

    answer = client.get("/log/checkpoint")

    assert made is not None
    assert (before.status_code, answer.status_code) == (404, 200)
    assert answer.content.decode() == made.note
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Cache-Control"] == "no-cache"
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "Set-Cookie" not in answer
    assert client.post("/log/checkpoint", by_hand=True).status_code == 405


def test_reads_are_limited_by_network(client: Client, settings: Any) -> None:
    settings.WAKE_READS_PER_MINUTE = 20
    grow(1)
    checkpoints.make_due(at=AT)

    answers = [client.get("/log/checkpoint") for _ in range(30)]

    assert {answer.status_code for answer in answers} == {200, 429}
    assert int(answers[-1]["Retry-After"]) > 0


def test_cosignatures_follow_the_note(client: Client) -> None:
    grow(1)
    made = checkpoints.make_due(at=AT)
    assert made is not None
    row = {"checkpoint": made, "kind": CheckpointSending.Kind.WITNESS}
    CheckpointSending.objects.create(**row, name="b", sent_at=AT, result="— b x\n")
    CheckpointSending.objects.create(**row, name="a", sent_at=AT, result="— a x\n")
    CheckpointSending.objects.create(**row, name="c", due_at=AT)

    answer = client.get("/log/checkpoint").content.decode()

    assert answer == f"{made.note}— a x\n— b x\n"


def test_an_entry_is_proven_by_the_newest_cosigned_checkpoint() -> None:
    made = []
    for number in range(3):
        grow(2)
        made.append(checkpoints.make_due(at=AT + number * HOUR))
    assert made[1] is not None
    CheckpointSending.objects.create(
        checkpoint=made[1], kind=CheckpointSending.Kind.WITNESS, sent_at=AT, result="— a x\n"
    )

    assert checkpoints.covering(0) == checkpoints.covering(3) == made[1]
    assert checkpoints.covering(4) == made[2]
    assert checkpoints.covering(6) is None


def test_a_rotated_key_stays_known_without_its_private_key() -> None:
    grow(1)
    first = checkpoints.make_due(at=AT)
    old = LogKey.objects.get()

    printed = command("rotate_log_key").strip()
    grow(1)
    second = checkpoints.make_due(at=AT + HOUR)

    assert first is not None
    assert second is not None
    old.refresh_from_db()
    assert (old.private_key, old.is_current) == ("", False)
    assert checkpoints.verifier_keys() == [printed, str(checkpoints.verifier_key(old))]
    key_ids = [note.splitlines()[-1].split(" ")[2][:5] for note in (first.note, second.note)]
    assert key_ids[0] != key_ids[1]
    assert (
        AuditEvent.objects.get(event="log_key.rotated").object_id
        == LogKey.objects.get(is_current=True).kid
    )


def test_another_address_of_the_server_is_another_log(settings: Any) -> None:
    grow(1)
    checkpoints.make_due(at=AT)
    grow(1)
    settings.WAKE_ORIGIN = "https://wake.example.com"

    made = checkpoints.make_due(at=AT + HOUR)

    assert made is not None
    assert made.note.startswith("wake.example.com/log\n2\n")
    newest, oldest = checkpoints.verifier_keys()
    assert newest.startswith("wake.example.com/log+")
    assert oldest.startswith("127.0.0.1:8000/log+")


def test_the_private_key_is_encrypted() -> None:
    grow(1)
    checkpoints.make_due(at=AT)

    with connection.cursor() as cursor:
        cursor.execute("SELECT private_key FROM accounts_logkey")
        (stored,) = cursor.fetchone()
    assert stored.startswith("\x01fernet:")


def test_a_command_shows_the_key_the_checkpoint_and_what_failed() -> None:
    with pytest.raises(CommandError, match="no checkpoint yet"):
        command("log_checkpoint")
    grow(1)
    printed = command("log_checkpoint", "--now")
    made = checkpoints.newest()
    assert made is not None
    assert f"Verifier key: {checkpoints.verifier_keys()[0]}\n" in printed
    assert made.note in printed

    CheckpointSending.objects.create(
        checkpoint=made, kind=CheckpointSending.Kind.GIT, due_at=AT, attempts=2, error="timed out"
    )
    assert "Git remote of 1: 2 attempts. timed out" in command("log_checkpoint")


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_makes_the_checkpoint() -> None:
    grow(1)
    checkpoints.make(at=AT)
    grow(1)
    start = threading.Barrier(2)

    def make() -> bool:
        start.wait()
        try:
            return checkpoints.make(at=AT) is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        made = [each.result() for each in [threads.submit(make) for _ in range(2)]]

    assert sorted(made) == [False, True]
    assert LogCheckpoint.objects.count() == 2
