"""A destination that hangs delays the other destinations by its time-out, once."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from accounts.models import CheckpointSending, LogCheckpoint
from tests.inbox.notifications.checkpoints.conftest import Clock, git
from tests.wake.callbacks.receiver import Receiver, answering
from wake.callbacks.http_client import DEADLINE_SECONDS

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def commits_in(bare: Path) -> int:
    return len(git(bare, "rev-list", "--all").split())


def test_a_destination_that_failed_comes_last(
    bare: Path,
    checkpoint: Callable[[], LogCheckpoint],
    send: Callable[[], int],
    clock: Clock,
    settings: Any,
    start_receiver: Callable[..., Receiver],
) -> None:
    webhook, commits_at_each_post = start_receiver(), list[int]()
    settings.WAKE_CHECKPOINT_WEBHOOK = webhook.url
    settings.WAKE_CHECKPOINT_WEBHOOK_SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()

    def counting(request: BaseHTTPRequestHandler) -> None:
        commits_at_each_post.append(commits_in(bare))
        answering(200)(request)

    def hanging(request: BaseHTTPRequestHandler) -> None:
        time.sleep(DEADLINE_SECONDS + 2)
        counting(request)

    webhook.then(hanging, counting, counting)
    checkpoint()
    began = time.monotonic()
    arrived = send()
    seconds = time.monotonic() - began

    assert (arrived, commits_in(bare)) == (1, 1)
    assert DEADLINE_SECONDS <= seconds < DEADLINE_SECONDS + 5
    assert CheckpointSending.objects.get(kind="webhook").error.startswith("Not sent: ")

    clock.at += timedelta(hours=1)
    checkpoint()
    commits_at_each_post.clear()
    assert send() == 3

    assert commits_at_each_post == [2, 2]  # git was first, although the webhook was due earlier
