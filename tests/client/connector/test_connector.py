"""A connector and its relay, over a real WebSocket."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Coroutine
from functools import wraps
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.client.relay import KEY, a_connector, a_relay, task
from wake_client.connector import command as commands
from wake_client.connector import links

WAITS = ("sleep", "60")
Scenario = Callable[[Path], Coroutine[Any, Any, None]]


def scenario(test: Scenario) -> Callable[[Path], None]:
    """One that awaits, given the journal's path."""

    @wraps(test)
    def run(tmp_path: Path) -> None:
        asyncio.run(test(tmp_path / "journal"))

    run.__annotations__ = {"tmp_path": Path}
    del run.__dict__["__wrapped__"]  # pytest would ask for its arguments
    return run


def sh(script: str) -> tuple[str, ...]:
    return ("sh", "-c", script)


@scenario
async def test_it_says_who_it_is_and_what_it_can_take(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, "true", capacity=3) as connector:
        hello = await relay.next("hello")

    assert hello == {
        "type": "hello",
        "protocol": 1,
        "agents": [],
        "instance_id": connector.instance_id,
        "machine": "here",
        "capacity": 3,
        "last_dispatch_ids": [],
        "last_lease_ids": [],
    }
    assert relay.keys == [f"Bearer {KEY}"]


@scenario
async def test_a_key_does_not_follow_a_redirect(journal: Path) -> None:
    async with a_relay() as relay, a_relay() as elsewhere:
        relay.refuses, relay.points_to = HTTPStatus.PERMANENT_REDIRECT, f"{elsewhere.url}/connect"
        with pytest.raises(links.NoWebSocket, match="308"):
            async with links.websocket(relay.url, KEY):
                pass

    assert relay.keys == [f"Bearer {KEY}"]
    assert elsewhere.keys == []


@scenario
async def test_a_command_reads_the_task_and_answers(journal: Path) -> None:
    decision = {"status": "redirected", "feedback": "Blue.", "by": "@alice"}
    given = task(decision=decision, attempt=2)
    async with a_relay() as relay, a_connector(relay, journal, "cat"):
        await relay.send(given)
        ack = await relay.next("ack")
        result = await relay.next("result")

    lease = {"dispatch_id": given["dispatch_id"], "lease_id": given["lease_id"]}
    assert ack == {"type": "ack", **lease}
    assert result["state"] == "completed"
    assert {name: result[name] for name in lease} == lease
    assert json.loads(result["text"]) == {
        **{name: given[name] for name in ("taskId", "contextId", "messageId")},
        **{name: given[name] for name in ("message", "messages")},
        "decision": decision,
        "attempt": 2,
    }


@scenario
async def test_a_command_finds_its_task_in_the_environment_and_no_key(journal: Path) -> None:
    given = task(decision={"status": "approved"})
    os.environ["WAKE_API_KEY"] = KEY
    try:
        async with a_relay() as relay, a_connector(relay, journal, "env"):
            await relay.send(given)
            result = await relay.next("result")
    finally:
        del os.environ["WAKE_API_KEY"]

    assert KEY not in result["text"]
    told = dict(line.split("=", 1) for line in result["text"].splitlines())
    assert {name: value for name, value in told.items() if name.startswith("WAKEUP_")} == {
        "WAKEUP_TASK_ID": "t-1",
        "WAKEUP_CONTEXT_ID": "c-1",
        "WAKEUP_DISPATCH_ID": given["dispatch_id"],
        "WAKEUP_ATTEMPT": "1",
        "WAKEUP_DECISION": "approved",
    }


@scenario
async def test_runs_go_on_beside_each_other_up_to_the_capacity(journal: Path) -> None:
    gate = journal.with_name("gate")
    until_it_opens = sh(f"while ! test -e {gate}; do sleep 0.05; done")
    given = [task(), task(), task()]
    async with a_relay() as relay, a_connector(relay, journal, *until_it_opens, capacity=2):
        for one in given:
            await relay.send(one)
        running = {(await relay.next("ack"))["dispatch_id"] for _ in range(2)}
        await relay.nothing_but("heartbeat", seconds=0.3)
        beat = await relay.next("heartbeat")
        gate.touch()
        third = await relay.next("ack")

    assert running == {given[0]["dispatch_id"], given[1]["dispatch_id"]}
    assert third["dispatch_id"] == given[2]["dispatch_id"]
    assert set(beat["dispatch_ids"]) == {one["dispatch_id"] for one in given}


@scenario
async def test_a_repeated_dispatch_is_answered_from_the_journal(journal: Path) -> None:
    runs = journal.with_name("runs")
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, *sh(f"echo x >> {runs}; echo red")):
        await relay.send(given)
        first = await relay.next("result")
        await relay.send(again := {**given, "lease_id": "another", "attempt": 2})
        second = await relay.next("result")

    assert runs.read_text() == "x\n"
    assert second == {**first, "lease_id": again["lease_id"]}


@scenario
async def test_a_dispatch_that_runs_goes_on_under_its_new_lease(journal: Path) -> None:
    gate = journal.with_name("gate")
    given = task()
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done")
    async with a_relay() as relay, a_connector(relay, journal, *waits) as connector:
        await relay.send(given)
        await relay.next("ack")
        await relay.send({**given, "lease_id": "another"})
        ack = await relay.next("ack")
        running = connector.running
        gate.touch()
        result = await relay.next("result")

    assert running == 1
    assert (ack["lease_id"], result["lease_id"]) == ("another", "another")


@scenario
async def test_a_lost_connection_is_made_again_and_what_was_lost_is_told(journal: Path) -> None:
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.send(given)
        first = await relay.next("result")
        await relay.lose()
        hello = await relay.next("hello")
        second = await relay.next("result")
        await relay.send({"type": "done", "dispatch_id": given["dispatch_id"]})
        await relay.send({"type": "ping"})
        await relay.next("pong")  # so it has read what came before
        await relay.lose()
        confirmed = await relay.next("hello")

    assert hello["last_dispatch_ids"] == [given["dispatch_id"]]
    assert hello["last_lease_ids"] == [given["lease_id"]]
    assert second == first
    assert confirmed["last_dispatch_ids"] == confirmed["last_lease_ids"] == []


@scenario
async def test_a_run_goes_on_while_there_is_no_connection(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done; echo red")
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, *waits):
        await relay.send(given)
        await relay.next("ack")
        await relay.lose()
        hello = await relay.next("hello")
        ack = await relay.next("ack")
        gate.touch()
        result = await relay.next("result")

    assert hello["last_dispatch_ids"] == [given["dispatch_id"]]
    assert hello["last_lease_ids"] == [given["lease_id"]]
    assert ack["dispatch_id"] == given["dispatch_id"]
    assert result["text"] == "red"


@scenario
async def test_a_cancel_ends_the_whole_group(journal: Path) -> None:
    pids = journal.with_name("pids")
    given = task()
    family = sh(f"sleep 60 & echo $! > {pids}; wait")
    async with a_relay() as relay, a_connector(relay, journal, *family):
        await relay.send(given)
        await relay.next("ack")
        child = await pid_in(pids)
        await relay.send({"type": "cancel", "dispatch_id": given["dispatch_id"]})
        result = await relay.next("result")

    assert result["state"] == "failed"
    assert await is_gone(child)


@scenario
async def test_a_command_that_will_not_end_is_ended(journal: Path) -> None:
    given = task()
    stubborn = sh("trap '' TERM; echo ready >&2; while :; do sleep 0.1; done")
    before, commands.SECONDS_TO_STOP = commands.SECONDS_TO_STOP, 0.3
    try:
        async with a_relay() as relay, a_connector(relay, journal, *stubborn):
            await relay.send(given)
            await relay.next("ack")
            await asyncio.sleep(0.2)  # for its trap
            asked_at = time.monotonic()
            await relay.send({"type": "cancel", "dispatch_id": given["dispatch_id"]})
            result = await relay.next("result")
    finally:
        commands.SECONDS_TO_STOP = before

    assert result["state"] == "failed"
    assert time.monotonic() - asked_at >= 0.3


@scenario
async def test_a_run_that_takes_too_long_has_failed(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, *WAITS):
        await relay.send(task(timeout_s=0.2))
        result = await relay.next("result")

    assert (result["state"], result["text"]) == (
        "failed",
        "The agent's command took longer than 0.2 s.",
    )


@scenario
async def test_a_run_that_says_too_much_has_failed(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, "yes"):
        await relay.send(task())
        result = await relay.next("result")

    assert (result["state"], result["text"]) == (
        "failed",
        "The agent's command wrote more than 10 MB.",
    )


@scenario
async def test_an_answer_that_the_relay_would_not_take_has_failed(journal: Path) -> None:
    async with a_relay() as relay:
        relay.welcome["frame_bytes"] = 2_000
        async with a_connector(relay, journal, *sh("yes | head -c $WAKEUP_ATTEMPT")):
            await relay.send(given := task(attempt=4_000))
            too_long = await relay.next("result")
            await relay.send(task(attempt=400))
            short = await relay.next("result")

    assert (too_long["state"], too_long["text"]) == (
        "failed",
        "The agent's answer is larger than the relay takes.",
    )
    assert short["state"] == "completed"
    (kept,) = journal.with_name("journal.kept").iterdir()
    assert kept.name == f"{given['dispatch_id']}.json"
    assert len(json.loads(kept.read_text())["text"]) > 3_900


@scenario
async def test_what_a_command_leaves_behind_does_not_hold_its_result(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, *sh("echo red; sleep 60 &")):
        await relay.send(task())
        result = await relay.next("result")

    assert (result["state"], result["text"]) == ("completed", "red")


@scenario
async def test_a_command_that_is_not_there_has_failed_and_says_no_path(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, "/nowhere/agent"):
        await relay.send(task())
        result = await relay.next("result")

    assert (result["state"], result["text"]) == (
        "failed",
        "The agent's command cannot be started.",
    )


@scenario
async def test_a_draining_connector_ends_what_runs_and_takes_no_more(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done")
    given, late = task(), task()
    async with a_relay() as relay, a_connector(relay, journal, *waits) as connector:
        await relay.send(given)
        await relay.next("ack")
        connector.drain()
        await relay.next("drain")
        await relay.send(late)
        await relay.nothing_but("heartbeat", seconds=0.3)
        gate.touch()
        result = await relay.next("result")
        assert not connector.finished.is_set()
        await relay.send({"type": "done", "dispatch_id": given["dispatch_id"]})
        async with asyncio.timeout(5):
            await connector.finished.wait()

    assert result["dispatch_id"] == given["dispatch_id"]


@scenario
async def test_frames_that_nobody_knows_are_ignored(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.next("hello")
        for frame in ({"type": "news"}, {}, {"type": "task", "dispatch_id": "x"}, {"type": "ping"}):
            await relay.send(frame)
        await relay.next("pong")
        await relay.send(task())
        result = await relay.next("result")

    assert result["text"] == "red"


async def pid_in(path: Path) -> int:
    async with asyncio.timeout(10):
        while not (path.exists() and path.read_text().strip()):
            await asyncio.sleep(0.02)
    return int(path.read_text())


async def is_gone(pid: int) -> bool:
    """Within a moment: it was not our child, so that nobody waits for it."""
    for _ in range(100):
        try:
            status = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            return True
        if status.rpartition(")")[2].split()[0] == "Z":
            return True
        await asyncio.sleep(0.02)
    return False
