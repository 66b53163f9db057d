"""A run reports progress and artifacts in pieces, up to the limit of a row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from relay.models import Artifact, Message, Task
from relay.protocol import dialects
from relay.runs.results import MAX_ARTIFACTS
from relay.tasks import lost_runs, reports
from tests.relay.fake_connector import FakeConnector, Frame, after, now, of
from tests.relay.many import add_messages, artifact
from wake.models import Delivery

State = Task.State


def piece(*texts: str, name: str = "log", append: bool = True, **more: Any) -> Frame:
    parts = [{"text": text} for text in texts]
    return {"artifact": {"artifactId": name, "parts": parts, "append": append, **more}}


@contextmanager
def full(task: Task) -> Iterator[None]:
    """Gives the task so many events that it takes no further pieces before its result."""
    rows, generation = Task.objects.filter(pk=task.pk), now(task).generation
    rows.update(generation=reports.PIECES_WITHIN)
    yield
    rows.update(generation=generation)


def texts_of(task: Task, name: str = "log") -> list[str]:
    return [part["text"] for part in task.artifacts.get(artifact_id=name).parts]


def test_each_event_of_an_artifact_in_pieces_has_the_whole_artifact(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    """A receiver needs neither the earlier pieces nor the last piece."""
    for n, text in enumerate("abc", 1):
        more = piece(text, lastChunk=text == "c")
        assert connector.send_frame("progress", **of(frame), **more, n=n) == []

    assert texts_of(task) == ["a", "b", "c"]
    event = task.events.filter(kind="artifact").last()
    assert event is not None
    update = dialects.write_event(event, "1.0")["artifactUpdate"]
    assert [part["text"] for part in update["artifact"]["parts"]] == ["a", "b", "c"]
    assert not update.keys() & {"append", "lastChunk"}


def test_an_event_says_which_piece_of_an_artifact_came_with_it(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    connector.send_frame("progress", **of(frame), **piece("a", "b"), n=1)
    connector.send_frame("progress", **of(frame), **piece("c", lastChunk=True), n=2)
    connector.end(frame, "completed", artifacts=[piece("d", name="end")["artifact"]])

    events = task.events.filter(kind="artifact").order_by("generation")
    pieces = [(one.first_part, one.part_count, one.is_last_piece) for one in events]
    assert pieces == [(0, 2, False), (2, 1, True), (0, 1, True)]
    assert not any(one.is_replaced for one in events)


def test_an_event_about_content_that_was_replaced_says_so(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    connector.send_frame("progress", **of(frame), **piece("a", "b"), n=1)
    result_artifacts = [piece("c", append=False)["artifact"], piece("d")["artifact"]]
    connector.end(frame, "completed", artifacts=result_artifacts)

    events = task.events.filter(kind="artifact").order_by("generation")
    assert [one.is_replaced for one in events] == [True, False, False]
    assert [(one.first_part, one.part_count) for one in events] == [(0, 2), (0, 1), (1, 1)]


def test_a_piece_without_append_replaces_the_artifact(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    connector.send_frame("progress", **of(frame), **piece("a", "b"))
    connector.send_frame("progress", **of(frame), **piece("c", append=False))

    connector.end(frame, "completed", artifacts=[piece("d")["artifact"]])

    assert texts_of(task) == ["c", "d"]


@pytest.mark.parametrize(
    ("bytes_at_most", "texts", "why"),
    [
        (10_000, ["x"] * 501, "An artifact has at most 1,000 parts."),
        (4_000, ["x" * 2_000], "An artifact has at most 4,000 bytes."),
    ],
)
def test_an_artifact_in_pieces_has_the_same_limit(
    task: Task,
    connector: FakeConnector,
    frame: Frame,
    settings: Any,
    bytes_at_most: int,
    texts: list[str],
    why: str,
) -> None:
    """A row that grows with every piece would be read and written again each
    time."""
    connector.send_frame("progress", **of(frame), **piece(*texts), n=1)
    settings.WAKE_MAX_A2A_BYTES = bytes_at_most

    (error,) = connector.send_frame("progress", **of(frame), **piece(*texts), n=2)

    assert error == {
        "type": "error",
        "code": "too_much",
        "message": why,
        "dispatch_id": frame["dispatch_id"],
        "n": 2,
    }
    assert texts_of(task) == texts
    (done,) = connector.end(frame, "completed", artifacts=[piece("new", name="b")["artifact"]])
    assert (done["type"], now(task).state) == ("done", State.COMPLETED)


def test_a_large_file_in_pieces_is_stored_outside_its_row(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    for n in (1, 2):
        parts = [{"raw": "QUJD" * 30_000, "filename": f"{n}.bin"}]
        artifact = {"artifactId": "log", "parts": parts, "append": True}
        connector.send_frame("progress", **of(frame), artifact=artifact, n=n)

    assert [blob.size for blob in task.blobs.all()] == [90_000, 90_000]
    assert len(task.artifacts.get().parts_json) < 1_000


def test_a_result_above_the_limit_fails_its_run_and_stores_no_artifact(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    """If the relay refused the result instead, the connector would send the result again,
    forever."""
    connector.send_frame("progress", **of(frame), **piece(*["x"] * 600))
    result_artifacts = [piece("new", name="b")["artifact"], piece(*["x"] * 600)["artifact"]]

    (done,) = connector.end(frame, "completed", text="Done.", artifacts=result_artifacts)

    message = now(task).status_message
    assert message is not None
    assert (done["type"], now(task).state) == ("done", State.FAILED)
    assert message.parts[0]["text"] == (
        "The agent's answer cannot be stored: An artifact has at most 1,000 parts."
    )
    assert [one.artifact_id for one in Artifact.objects.all()] == ["log"]


def test_the_artifacts_of_a_task_are_limited(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    Artifact.objects.bulk_create(
        artifact(task, f"there {number}") for number in range(MAX_ARTIFACTS - 2)
    )
    for name in ("a", "b"):
        assert connector.send_frame("progress", **of(frame), **piece("x", name=name)) == []

    (error,) = connector.send_frame("progress", **of(frame), **piece("x", name="c"))

    assert error["message"] == "A task has at most 1,000 artifacts."
    assert connector.send_frame("progress", **of(frame), **piece("y", name="b")) == []
    assert texts_of(task, "b") == ["x", "y"]


def test_pieces_end_before_the_result_does(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    """Each piece is a push to every configured receiver of the task."""
    Task.objects.filter(pk=task.pk).update(generation=reports.PIECES_WITHIN - 2)
    answers = [
        connector.send_frame("progress", **of(frame), **piece("x"), n=n) for n in range(1, 5)
    ]

    codes = [[one["code"] for one in frames] for frames in answers]
    assert codes == [[], [], ["too_much"], ["too_much"]]
    connector.end(frame, "completed", artifacts=[piece("y")["artifact"]], at=after(1))
    assert texts_of(task) == ["x", "x", "y"]


def pieces_of_a_result(*pieces: Frame) -> list[Any]:
    """Returns the pieces as the result repeats them, numbered from 1."""
    return [one["artifact"] | {"n": n} for n, one in enumerate(pieces, 1)]


def test_a_result_stores_the_pieces_that_were_refused(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    """A later report used to make a refused piece look stored, and the result was completed without
    it."""
    sent = [piece(text) for text in "abcd"]
    connector.send_frame("progress", **of(frame), **sent[0], n=1)
    with full(task):
        (refused,) = connector.send_frame("progress", **of(frame), **sent[1], n=2)
    (too,) = connector.send_frame("progress", **of(frame), **sent[2], n=3)
    for _ in range(2):
        connector.send_frame("progress", **of(frame), text="Half.", n=5)

    repeated = [*pieces_of_a_result(*sent[:3]), sent[3]["artifact"] | {"n": 6}]
    connector.end(frame, "completed", artifacts=repeated)

    assert (refused["code"], too["code"]) == ("too_much", "too_much")
    assert texts_of(task) == ["a", "b", "c", "d"]
    assert now(task).state == State.COMPLETED
    assert Message.objects.filter(task=task, source="agent").count() == 1


def test_a_result_fails_with_a_piece_that_cannot_be_stored(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    sent = [piece(*["x"] * 1_000), piece("y"), piece("z", name="b", append=False)]
    for n, one in enumerate(sent, 1):
        connector.send_frame("progress", **of(frame), **one, n=n)
    connector.send_frame("progress", **of(frame), text="Half.", n=4)

    connector.end(frame, "completed", artifacts=pieces_of_a_result(*sent))

    message = now(task).status_message
    assert message is not None
    assert now(task).state == State.FAILED
    assert message.parts[0]["text"].endswith("An artifact has at most 1,000 parts.")


@pytest.mark.parametrize("bad", [{"text": "\0"}, {"text": 1}], ids=["U+0000", "no text"])
def test_a_piece_that_cannot_be_read_counts_as_refused(
    bad: dict[str, Any], task: Task, connector: FakeConnector, frame: Frame
) -> None:
    sent = [piece("a"), piece("b")]
    unreadable = {"type": "progress", **of(frame), **sent[0], "n": 1}
    unreadable["artifact"]["parts"] = [bad]

    (error,) = connector.session.read(json.dumps(unreadable), at=after(1))
    (lost,) = connector.send_frame(
        "progress", **of(frame) | {"lease_id": str(uuid4())}, text="x", n=2
    )
    connector.send_frame("progress", **of(frame), text="Half.", n=3)
    sent[0] = piece("a")
    connector.end(frame, "completed", artifacts=pieces_of_a_result(*sent))

    assert (error["code"], error["n"]) == ("malformed", 1)
    assert (lost["code"], lost["n"]) == ("lease_lost", 2)
    assert texts_of(task) == ["a", "b"]


def test_a_run_that_begins_again_forgets_that_a_piece_was_refused(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    with full(task):
        connector.send_frame("progress", **of(frame), **piece("a"), n=1)
    later = after(90)
    lost_runs.expire_leases(at=later)
    connector.send_frame("heartbeat", dispatch_ids=[], at=later)
    again = connector.run(at=later)

    assert connector.send_frame("progress", **of(again), **piece("b"), n=1, at=later) == []
    assert texts_of(task) == ["b"]


def test_progress_messages_leave_room_for_other_messages(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    add_messages(task, reports.WORDS_WITHIN - 3)
    for n in range(1, 6):
        assert connector.send_frame("progress", **of(frame), text=f"Step {n}", n=n) == []

    words = Message.objects.filter(task=task, source="agent")
    assert [one.parts[0]["text"] for one in words] == ["Step 1", "Step 2"]
    assert Delivery.objects.unanswered().get(task_delivery__task=task).headline == "Step 2"
    connector.end(frame, "completed", text="Done.")
    assert words.all().count() == 3


def test_a_progress_text_that_is_too_long_is_refused(
    task: Task, connector: FakeConnector, frame: Frame
) -> None:
    text = json.dumps({"type": "progress", **of(frame), "text": "x" * 4_097})

    (error,) = connector.session.read(text, at=after(1))

    assert (error["code"], error["dispatch_id"]) == ("malformed", frame["dispatch_id"])
    assert not Message.objects.filter(task=task, source="agent").exists()
