"""A result with many artifacts takes no more statements than a result with a few."""

from __future__ import annotations

import json
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from relay.models import CallerKey, Card, PushNotification, Task
from relay.protocol.dialects import PushIn
from relay.tasks import pushes
from tests.relay.calling import queue_pushes
from tests.relay.fake_connector import FakeConnector, Frame, after, ask, now, of
from tests.relay.runs.test_reports import piece


def artifacts(number: int, text: str = "") -> list[dict[str, Any]]:
    texts = [f"Page {n}{text}" for n in range(number)]
    return [{"artifactId": f"a-{n}", "parts": [{"text": text}]} for n, text in enumerate(texts)]


def pushed(task: Task, config: str) -> list[dict[str, Any]]:
    queue_pushes()
    rows = PushNotification.objects.filter(task=task, config__config_id=config)
    rows = rows.order_by("generation").select_related("callback")
    return [json.loads(bytes(row.callback.body)) for row in rows]


def test_a_result_with_too_many_artifacts_fails_before_any_is_stored(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    """More than 65,535 artifacts were too many for one statement. The failure looked as if the
    database were away, so the connector sent the artifacts again and again."""
    with CaptureQueriesContext(connection) as queries:
        (done,) = connector.end(frame, "completed", artifacts=artifacts(1_001, "x" * 100))

    message = now(task).status_message
    assert message is not None
    assert (done["type"], now(task).state) == ("done", Task.State.FAILED)
    assert "Must be at most 1,000 artifacts." in message.parts[0]["text"]
    assert not any('INTO "relay_artifact"' in query["sql"] for query in queries)


def test_a_result_repeats_any_number_of_pieces(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    pieces = [piece("x", name=f"log-{n % 7}")["artifact"] | {"n": n} for n in range(1, 1_101)]

    connector.end(frame, "completed", artifacts=pieces)

    assert now(task).state == Task.State.COMPLETED
    assert sum(len(one.parts) for one in task.artifacts.all()) == 1_100


def test_in_0_3_a_result_is_pushed_once_with_all_its_artifacts(
    card: Card, caller_key: CallerKey, connector: FakeConnector
) -> None:
    task = ask(card, caller_key)
    for version in ("1.0", "0.3"):
        config = PushIn(version, "https://hooks.example.com/", version=version)
        pushes.create(task, config, at=after())
    frame = connector.run(at=after(1))

    connector.end(frame, "completed", artifacts=artifacts(5), at=after(2))

    older, newer = pushed(task, "0.3"), pushed(task, "1.0")
    assert [body["status"]["state"] for body in older] == ["working", "completed"]
    assert len(older[-1]["artifacts"]) == 5
    assert [next(iter(body)) for body in newer] == [
        *("statusUpdate", *["artifactUpdate"] * 5, "task")
    ]


def test_pieces_are_pushed_as_they_came_in_1_0_and_with_the_end_in_0_3(
    card: Card, caller_key: CallerKey, connector: FakeConnector
) -> None:
    """If each push had the whole artifact or task, the size of all pushes would grow with the
    square of the number of pieces."""
    task = ask(card, caller_key)
    for version in ("1.0", "0.3"):
        config = PushIn(version, "https://hooks.example.com/", version=version)
        pushes.create(task, config, at=after())
    frame = connector.run(at=after(1))

    (piece,) = artifacts(1)
    connector.send_frame("progress", **of(frame), n=1, text="One.", artifact=piece, at=after(2))
    more = piece | {"append": True, "lastChunk": True, "parts": [{"text": "More."}]}
    connector.send_frame("progress", **of(frame), n=2, artifact=more, at=after(3))
    connector.end(frame, "completed", at=after(4))

    newer = [body["artifactUpdate"] for body in pushed(task, "1.0") if "artifactUpdate" in body]
    assert [one["artifact"]["parts"] for one in newer] == [piece["parts"], more["parts"]]
    assert [one.get("append", False) for one in newer] == [False, True]
    assert newer[1]["lastChunk"] is True
    assert newer[0]["metadata"] == {"wakeGeneration": 3, "wakeHop": 0}
    older = pushed(task, "0.3")
    assert [body["status"]["state"] for body in older] == ["working", "working", "completed"]
    assert [len(body.get("artifacts", [])) for body in older] == [0, 0, 1]
    assert len(older[2]["artifacts"][0]["parts"]) == 2


def test_a_result_takes_the_same_statements_for_any_number_of_artifacts(
    card: Card, caller_key: CallerKey, connector: FakeConnector
) -> None:
    """Each artifact used to take a dozen statements under the lock of the agent. The agent's
    deliveries wait for this lock."""
    counted = []
    for number in (10, 100):
        task = ask(card, caller_key)
        for name in ("a", "b"):
            pushes.create(task, PushIn(name, "https://hooks.example.com/"), at=after())
        frame = connector.run(at=after(1))
        with CaptureQueriesContext(connection) as queries:
            connector.end(frame, "completed", artifacts=artifacts(number), at=after(2))
        counted.append(len(queries))
        assert task.artifacts.count() == number
        assert [event.generation for event in task.events.order_by("pk")] == [*range(1, number + 4)]

    assert counted[1] <= counted[0] + 5  # more rows need more batches


def test_artifacts_with_one_id_in_one_result_are_one(
    card: Card, caller_key: CallerKey, connector: FakeConnector
) -> None:
    task = ask(card, caller_key)
    frame = connector.run(at=after(1))
    first, second = ({"artifactId": "a", "parts": [{"text": text}]} for text in ("One", "Two"))

    connector.end(frame, "completed", artifacts=[first, second | {"append": True}], at=after(2))

    (row,) = task.artifacts.all()
    assert row.parts == [{"text": "One"}, {"text": "Two"}]
