"""What a command says while it works."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.client.relay import a_connector, a_relay, task
from tests.client.test_connector import scenario, sh
from wake_client.connector.progress import LONGEST_TEXT, Progress, without


def heard(output: bytes) -> tuple[bytes, list[str]]:
    said: list[str] = []
    return without(output, said.append), said


def test_lines_that_are_progress_are_taken_out_of_the_answer() -> None:
    output = (
        b'{"state": "working", "text": "One of two."}\n'
        b"The answer.\n"
        b'  {"text": "Two of two.", "state": "working", "n": 7}\r\n'
    )

    assert heard(output) == (b"The answer.\n", ["One of two.", "Two of two."])


@pytest.mark.parametrize(
    "line",
    [
        '{"state": "working"}',
        '{"state": "working", "text": " "}',
        '{"state": "working", "text": 7}',
        '{"state": "completed", "text": "It is working"}',
        '{"state": "completed", "text": "working"}',
        '{"state": "working", "text": "Half',
        '"working"',
        '{"working": ' + "[" * 60_000,
    ],
)
def test_whatever_else_is_printed_stays_in_it(line: str) -> None:
    assert heard(line.encode() + b"\n") == (line.encode() + b"\n", [])


def test_a_long_word_is_cut() -> None:
    line = json.dumps({"state": "working", "text": "x" * 10_000})

    assert heard(line.encode() + b"\n") == (b"", ["x" * LONGEST_TEXT])


def test_one_a_second_is_told_and_the_last_one_wins() -> None:
    progress = Progress(at=100)

    assert progress.say("one", at=100) == 0
    assert progress.tell(at=100) == (1, "one")
    assert progress.say("two", at=100.25) == 0.75
    assert progress.say("three", at=100.5) is None
    assert progress.tell(at=101) == (2, "three")
    assert progress.say("four", at=105) == 0


def test_a_run_that_goes_on_for_long_says_less_often() -> None:
    progress = Progress(at=0)
    progress.say("one", at=3_600)
    progress.tell(at=3_600)

    assert progress.say("two", at=3_600) == 60


@scenario
async def test_it_is_told_while_the_command_runs(journal: Path) -> None:
    gate = journal.with_name("gate")
    working = json.dumps({"state": "working", "text": "Half of it is red."})
    script = f"echo '{working}'; while ! test -e {gate}; do sleep 0.05; done; echo red"
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, *sh(script)):
        await relay.send(given)
        await relay.next("ack")
        progress = await relay.next("progress")
        gate.touch()
        result = await relay.next("result")

    assert progress == {
        **{"type": "progress", "n": 1, "text": "Half of it is red."},
        **{name: given[name] for name in ("dispatch_id", "lease_id")},
    }
    assert (result["state"], result["text"]) == ("completed", "red")


@scenario
async def test_without_a_connection_only_the_last_word_waits(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, "sleep", "60") as connector:
        await relay.send(given := task())
        await relay.next("ack")
        run = connector._runs[given["dispatch_id"]]
        for number in range(3):
            connector._tell_progress(run.dispatch, number, f"{number}")
        waiting = [frame for frame in connector.unsent() if frame["type"] == "progress"]

    assert [frame["n"] for frame in waiting] == [2]
