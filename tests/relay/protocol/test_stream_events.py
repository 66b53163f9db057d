"""A stream carries the events of a task. Each event has an id, and an artifact may come in
pieces."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from relay.models import Artifact, Context, Event, Message, Task
from relay.protocol import stream_events

ID = uuid.UUID("3f2a8c1e-0000-4000-8000-000000000001")
AT = datetime(2026, 11, 21, 8, 30, tzinfo=UTC)
TASK = Task(id=ID, context=Context(context_id="talk"), generation=4)
PARTS = [{"text": text} for text in "abc"]


def piece(first: int, count: int | None, *, is_last: bool = False) -> Event:
    artifact = Artifact(artifact_id="log", name="Log", parts_json=json.dumps(PARTS))
    return Event(
        task=TASK,
        generation=3,
        kind=Event.Kind.ARTIFACT,
        artifact=artifact,
        first_part=first,
        part_count=count,
        is_last_piece=is_last,
        at=AT,
    )


def write(event: Event, version: Any = "1.0", *, final: bool = False) -> Any:
    written = stream_events.write_event(event, PARTS, version, final=final)
    return written if version == "0.3" else next(iter(written.values()))


def texts(update: Any) -> list[str]:
    return [part["text"] for part in update["artifact"]["parts"]]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_an_artifact_comes_in_the_pieces_in_which_it_was_made(version: Any) -> None:
    first, more = write(piece(0, 1), version), write(piece(1, 2, is_last=True), version)

    assert texts(first) == ["a"]
    assert not first.keys() & {"append", "lastChunk"}
    assert texts(more) == ["b", "c"]
    assert (more["append"], more["lastChunk"]) == (True, True)
    assert more["artifact"]["name"] == "Log"


def test_an_event_of_version_0_1_has_the_whole_artifact() -> None:
    update = write(piece(0, None))

    assert texts(update) == ["a", "b", "c"]
    assert "append" not in update


@pytest.mark.parametrize("final", [True, False])
def test_only_the_event_that_ends_a_stream_of_0_3_is_final(final: bool) -> None:
    asked = Event(task=TASK, generation=4, kind="status", state="input_required", at=AT)

    assert write(asked, "0.3", final=final)["final"] is final
    assert "final" not in write(asked, "1.0", final=final)


def test_an_event_says_its_generation() -> None:
    assert write(piece(0, 1))["metadata"] == {"wakeGeneration": 3}
    first = stream_events.write_first(TASK, {"id": "t", "metadata": {"other": 1}}, "1.0")
    assert first == {"task": {"id": "t", "metadata": {"other": 1, "wakeGeneration": 4}}}
    assert stream_events.write_first(TASK, {"id": "t"}, "0.3")["metadata"] == {"wakeGeneration": 4}


def test_an_event_is_one_line_of_json() -> None:
    said = Message(
        context=TASK.context,
        message_id="m",
        source="agent",
        parts_json=json.dumps([{"text": "a\n\ndata: b\r\u2028id: 7"}]),
    )
    event = Event(task=TASK, generation=4, kind="status", state="working", message=said, at=AT)
    written = stream_events.write_event(event, [], "1.0", final=False)

    sent = stream_events.write_answer("req-1", written, id=stream_events.id_of(ID, 4))

    name, data, *rest = sent.decode().split("\n")
    assert name == f"id: {ID}:4"
    assert rest == ["", ""]
    assert "\r" not in data
    answer = json.loads(data.removeprefix("data: "))
    assert (answer["jsonrpc"], answer["id"], answer["result"]) == ("2.0", "req-1", written)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        str(ID),
        f"{ID}:",
        f"{ID}:-1",
        f"{ID}:seven",
        f"{ID}:٣",
        f"{ID}:12345678901",
        f"{ID}:1\n",
        f" {ID}:1",
        "9" * 10_000,
    ],
)
def test_no_other_text_is_the_id_of_an_event(text: str) -> None:
    assert stream_events.read_id(text) is None


def test_the_id_of_an_event_names_its_task_and_generation() -> None:
    assert stream_events.read_id(stream_events.id_of(ID, 12)) == (ID, 12)
