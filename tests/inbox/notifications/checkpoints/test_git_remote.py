"""A git remote gets one commit for each checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from accounts.models import CheckpointSending, LogCheckpoint
from tests.inbox.notifications.checkpoints.conftest import Clock, git

pytestmark = pytest.mark.django_db

Checkpoint = Callable[[], LogCheckpoint]
Send = Callable[[], int]


def test_each_checkpoint_is_a_commit(bare: Path, checkpoint: Checkpoint, send: Send) -> None:
    first = checkpoint()
    assert send() == 1
    second = checkpoint()
    assert send() == 1

    assert git(bare, "log", "--format=%an: %s", "main").splitlines() == [
        "Wake: Checkpoint of 6 entries",
        "Wake: Checkpoint of 3 entries",
    ]
    assert git(bare, "show", "main:checkpoint") == second.note
    assert git(bare, "show", "main~1:checkpoint") == first.note
    newest = CheckpointSending.objects.get(checkpoint=6)
    assert newest.result == git(bare, "rev-parse", "main").strip()


def test_a_branch_of_another_name_and_other_files_stay(
    bare: Path, checkpoint: Checkpoint, send: Send, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch=trunk")
    (work / "README").write_text("Ours.\n")
    git(work, "add", ".")
    git(work, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "One")
    git(work, "push", "--quiet", str(bare), "trunk")
    git(bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
    made = checkpoint()

    assert send() == 1

    assert git(bare, "show", "trunk:README") == "Ours.\n"
    assert git(bare, "show", "trunk:checkpoint") == made.note


def test_one_that_arrived_without_our_knowing_is_no_second_commit(
    bare: Path, checkpoint: Checkpoint, send: Send, clock: Clock
) -> None:
    checkpoint()
    send()
    CheckpointSending.objects.update(due_at=clock.at, sent_at=None)

    assert send() == 1

    assert git(bare, "rev-list", "--count", "main").strip() == "1"


def test_a_remote_that_is_away_gets_it_later(
    bare: Path, checkpoint: Checkpoint, send: Send, clock: Clock
) -> None:
    away = bare.with_name("away.git")
    bare.rename(away)
    checkpoint()
    assert send() == 0
    row = CheckpointSending.objects.get()
    assert "does not exist" in row.error or "not read" in row.error or "Could not" in row.error
    away.rename(bare)

    clock.at += timedelta(minutes=1)

    assert send() == 1


def test_a_remote_that_refuses_says_why(bare: Path, checkpoint: Checkpoint, send: Send) -> None:
    hook = bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    checkpoint()

    assert send() == 0

    assert CheckpointSending.objects.get().error.startswith("git failed:")
