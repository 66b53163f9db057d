"""The connector sends the progress that a command reports while it works."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.client.connector.relay import a_connector, a_relay, task_frame
from tests.client.connector.scenarios import scenario, sh
from tests.fixtures.logged import logged
from wake_client.connector import connector
from wake_client.connector.progress import MAX_TEXT, Progress, Report, extract


def extracted(output: bytes) -> tuple[bytes, list[str]]:
    """Returns the rest of the output, and the progress that it contained."""
    reports: list[Report] = []
    rest = extract(output, reports.append)
    return rest, [report.text for report in reports]


def test_progress_lines_are_removed_from_the_answer() -> None:
    output = (
        b'{"state": "working", "text": "One of two."}\n'
        b"The answer.\n"
        b'  {"text": "Two of two.", "state": "working", "n": 7}\r\n'
    )

    assert extracted(output) == (b"The answer.\n", ["One of two.", "Two of two."])


@pytest.mark.parametrize(
    "line",
    [
        '{"state": "working"}',
        '{"state": "working", "text": " "}',
        '{"state": "working", "text": 7}',
        '{"state": "completed", "text": "It is working"}',
        '{"state": "completed", "text": "working"}',
        '{"state": "working", "text": "Half',
        '{"state": "working", "artifact": {"artifactId": "a"}}',
        '{"state": "working", "artifact": {"artifactId": 7, "parts": [{"text": "x"}]}}',
        '{"state": "working", "artifact": {"artifactId": "a", "parts": []}}',
        '"working"',
        '{"working": ' + "[" * 60_000,
    ],
)
def test_other_output_stays_in_the_answer(line: str) -> None:
    assert extracted(line.encode() + b"\n") == (line.encode() + b"\n", [])


def test_a_long_text_is_cut() -> None:
    line = json.dumps({"state": "working", "text": "x" * 10_000})

    assert extracted(line.encode() + b"\n") == (b"", ["x" * (MAX_TEXT - 1) + "…"])


def test_one_progress_line_a_second_is_sent_and_the_newest_wins() -> None:
    progress = Progress(at=100)

    assert progress.report("one", at=100) == 0
    assert progress.next(at=100) == (1, "one")
    assert progress.report("two", at=100.25) == 0.75
    assert progress.report("three", at=100.5) is None
    assert progress.next(at=101) == (2, "three")
    assert progress.report("four", at=105) == 0


def test_a_long_run_reports_less_often() -> None:
    progress = Progress(at=0)
    progress.report("one", at=3_600)
    progress.next(at=3_600)

    assert progress.report("two", at=3_600) == 60


@scenario
async def test_progress_is_sent_while_the_command_runs(journal: Path) -> None:
    gate = journal.with_name("gate")
    working = json.dumps({"state": "working", "text": "Half of it is red."})
    script = f"echo '{working}'; while ! test -e {gate}; do sleep 0.05; done; echo red"
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, *sh(script)):
        await relay.send(task)
        await relay.next("ack")
        progress = await relay.next("progress")
        gate.touch()
        result = await relay.next("result")

    assert progress == {
        **{"type": "progress", "n": 1, "text": "Half of it is red."},
        **{name: task[name] for name in ("dispatch_id", "lease_id")},
    }
    assert (result["state"], result["text"]) == ("completed", "red")


@scenario
async def test_the_connector_logs_the_progress_that_it_sends(journal: Path) -> None:
    working = json.dumps({"state": "working", "text": "Half of it  is red."})
    script = f"echo '{working}'; sleep 1"
    with logged(connector.logger) as lines:
        async with a_relay() as relay, a_connector(relay, journal, *sh(script)):
            await relay.send(task := task_frame())
            await relay.next("progress")
            await relay.next("result")

    assert f"task {task['taskId']}: Half of it is red." in lines


@scenario
async def test_without_a_connection_only_the_latest_progress_waits(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, "sleep", "60") as ours:
        await relay.send(task := task_frame())
        await relay.next("ack")
        run = ours._active[task["dispatch_id"]].run
        for number in range(3):
            ours._queue_progress(run, number, f"{number}")
        waiting = [frame for frame in ours.unsent() if frame["type"] == "progress"]

    assert [frame["n"] for frame in waiting] == [2]
