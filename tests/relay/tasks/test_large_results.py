"""A large result with several receivers of pushes takes room in proportion to its size."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.db.models import Sum
from django.db.models.functions import Length
from django.utils import timezone

from accounts.models import ApiKey
from relay.models import CallerKey, Card, Task
from relay.protocol.dialects import PushIn
from relay.tasks import pushes
from tests.relay.calling import queue_pushes
from tests.relay.fake_connector import FakeConnector, ask
from wake.models import Callback

pytestmark = pytest.mark.django_db
CONFIGS = 5
FILE_BYTES = 50_000


def files(number: int) -> list[dict[str, Any]]:
    raw = base64.b64encode(b"x" * FILE_BYTES).decode()
    return [
        {"artifactId": f"file-{n}", "parts": [{"raw": raw, "filename": f"{n}.bin"}]}
        for n in range(number)
    ]


def begun(card: Card, caller_key: CallerKey, connector: FakeConnector, version: Any) -> Any:
    """Returns the frame of a run whose task has five receivers."""
    task = ask(card, caller_key, at=timezone.now())
    for number in range(CONFIGS):
        push = PushIn(f"c-{number}", f"https://c{number}.example.com/", version=version)
        pushes.create(task, push, at=timezone.now())
    return task, connector.run(at=timezone.now())


def outbox(task: Task) -> tuple[int, int]:
    """Returns the rows and the bytes of the queued pushes of this task."""
    rows = Callback.objects.filter(about=task.pk)
    return rows.count(), rows.aggregate(all=Sum(Length("body")))["all"]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_the_outbox_grows_with_the_size_of_a_result(
    version: str, card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    sizes = {}
    connector = FakeConnector(key, at=timezone.now())
    for number in (10, 20):
        task, frame = begun(card, caller_key, connector, version)
        connector.end(frame, "completed", artifacts=files(number), at=timezone.now())
        queue_pushes()
        sizes[number] = outbox(task)

    (rows, size), (twice_the_rows, twice_the_size) = sizes[10], sizes[20]
    assert twice_the_rows <= 2 * rows
    assert twice_the_size <= 2.05 * size
    sent = 20 * FILE_BYTES * 4 / 3 * CONFIGS
    assert twice_the_size <= sent * (2.1 if version == "1.0" else 1.1)
