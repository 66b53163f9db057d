"""A connector and its relay work together over a real WebSocket."""

from __future__ import annotations

import asyncio
import json
import os
import time
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.client.connector.relay import KEY, a_connector, a_relay, task_frame
from tests.client.connector.scenarios import is_gone, pid_in, scenario, sh
from wake_client.connector import command as commands
from wake_client.connector import transports

WAITS = ("sleep", "60")


@scenario
async def test_hello_names_the_machine_and_its_capacity(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, "true", capacity=3) as connector:
        hello = await relay.next("hello")

    assert hello == {
        "type": "hello",
        "protocol": 1,
        "agents": [],
        "instance_id": connector.instance_id,
        "machine": "here",
        "first": True,
        "capacity": 3,
        "last_dispatch_ids": [],
        "last_lease_ids": [],
    }
    assert relay.keys == [f"Bearer {KEY}"]


@scenario
async def test_a_key_does_not_follow_a_redirect(journal: Path) -> None:
    async with a_relay() as relay, a_relay() as elsewhere:
        relay.refuses, relay.redirects_to = (
            HTTPStatus.PERMANENT_REDIRECT,
            f"{elsewhere.url}/connect",
        )
        with pytest.raises(transports.NoWebSocket, match="308"):
            async with transports.websocket(relay.url, KEY):
                pass

    assert relay.keys == [f"Bearer {KEY}"]
    assert elsewhere.keys == []


@scenario
async def test_a_command_reads_the_task_and_answers(journal: Path) -> None:
    decision = {"status": "redirected", "feedback": "Blue.", "by": "@alice"}
    task = task_frame(decision=decision, attempt=2)
    async with a_relay() as relay, a_connector(relay, journal, "cat"):
        await relay.send(task)
        ack = await relay.next("ack")
        result = await relay.next("result")

    lease = {"dispatch_id": task["dispatch_id"], "lease_id": task["lease_id"]}
    assert ack == {"type": "ack", **lease}
    assert result["state"] == "completed"
    assert {name: result[name] for name in lease} == lease
    assert json.loads(result["text"]) == {
        **{name: task[name] for name in ("taskId", "contextId", "messageId")},
        **{name: task[name] for name in ("message", "messages")},
        "decision": decision,
        "caller": None,
        "acceptedOutputModes": [],
        "referenceTaskIds": [],
        "metadata": {},
        "attempt": 2,
    }


@scenario
async def test_a_command_finds_its_task_in_the_environment_and_no_key(journal: Path) -> None:
    task = task_frame(decision={"status": "approved"})
    os.environ["WAKE_API_KEY"] = KEY
    try:
        async with a_relay() as relay, a_connector(relay, journal, "env"):
            await relay.send(task)
            result = await relay.next("result")
    finally:
        del os.environ["WAKE_API_KEY"]

    assert KEY not in result["text"]
    variables = dict(line.split("=", 1) for line in result["text"].splitlines())
    assert Path(variables.pop("WAKEUP_RESULT")).name == "result.json"
    assert {name: value for name, value in variables.items() if name.startswith("WAKEUP_")} == {
        "WAKEUP_CALLER": "",
        "WAKEUP_TASK_ID": "t-1",
        "WAKEUP_CONTEXT_ID": "c-1",
        "WAKEUP_DISPATCH_ID": task["dispatch_id"],
        "WAKEUP_ATTEMPT": "1",
        "WAKEUP_DECISION": "approved",
    }


@scenario
async def test_as_many_runs_at_a_time_as_its_capacity(journal: Path) -> None:
    gate = journal.with_name("gate")
    until_it_opens = sh(f"while ! test -e {gate}; do sleep 0.05; done")
    tasks = [task_frame(), task_frame(), task_frame()]
    async with a_relay() as relay, a_connector(relay, journal, *until_it_opens, capacity=2):
        for task in tasks:
            await relay.send(task)
        running = {(await relay.next("ack"))["dispatch_id"] for _ in range(2)}
        await relay.nothing_but("heartbeat", seconds=0.3)
        beat = await relay.next("heartbeat")
        gate.touch()
        third = await relay.next("ack")

    assert running == {tasks[0]["dispatch_id"], tasks[1]["dispatch_id"]}
    assert third["dispatch_id"] == tasks[2]["dispatch_id"]
    assert set(beat["dispatch_ids"]) == {task["dispatch_id"] for task in tasks}


@scenario
async def test_a_repeated_run_is_answered_from_the_journal(journal: Path) -> None:
    runs = journal.with_name("runs")
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, *sh(f"echo x >> {runs}; echo red")):
        await relay.send(task)
        first = await relay.next("result")
        await relay.send(again := {**task, "lease_id": "another", "attempt": 2})
        second = await relay.next("result")

    assert runs.read_text() == "x\n"
    assert second == {**first, "lease_id": again["lease_id"]}


@scenario
async def test_an_active_run_continues_under_its_new_lease(journal: Path) -> None:
    gate = journal.with_name("gate")
    task = task_frame()
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done")
    async with a_relay() as relay, a_connector(relay, journal, *waits) as connector:
        await relay.send(task)
        await relay.next("ack")
        await relay.send({**task, "lease_id": "another"})
        ack = await relay.next("ack")
        running = connector.running
        gate.touch()
        result = await relay.next("result")

    assert running == 1
    assert (ack["lease_id"], result["lease_id"]) == ("another", "another")


@scenario
async def test_after_a_reconnect_a_lost_result_is_sent_again(journal: Path) -> None:
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.send(task)
        first = await relay.next("result")
        await relay.lose()
        hello = await relay.next("hello")
        second = await relay.next("result")
        await relay.send({"type": "done", "dispatch_id": task["dispatch_id"]})
        await relay.send({"type": "ping"})
        await relay.next("pong")  # the connector has then read the earlier frames
        await relay.lose()
        confirmed = await relay.next("hello")

    assert hello["last_dispatch_ids"] == [task["dispatch_id"]]
    assert hello["last_lease_ids"] == [task["lease_id"]]
    assert second == first
    assert confirmed["last_dispatch_ids"] == confirmed["last_lease_ids"] == []


@scenario
async def test_a_run_continues_while_there_is_no_connection(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done; echo red")
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, *waits):
        await relay.send(task)
        await relay.next("ack")
        await relay.lose()
        hello = await relay.next("hello")
        ack = await relay.next("ack")
        gate.touch()
        result = await relay.next("result")

    assert hello["last_dispatch_ids"] == [task["dispatch_id"]]
    assert hello["last_lease_ids"] == [task["lease_id"]]
    assert ack["dispatch_id"] == task["dispatch_id"]
    assert result["text"] == "red"


@scenario
async def test_a_cancel_stops_the_whole_process_group(journal: Path) -> None:
    pids = journal.with_name("pids")
    task = task_frame()
    family = sh(f"sleep 60 & echo $! > {pids}; wait")
    async with a_relay() as relay, a_connector(relay, journal, *family):
        await relay.send(task)
        await relay.next("ack")
        child = await pid_in(pids)
        await relay.send({"type": "cancel", "dispatch_id": task["dispatch_id"]})
        result = await relay.next("result")

    assert result["state"] == "failed"
    assert await is_gone(child)


@scenario
async def test_a_command_that_ignores_sigterm_is_killed(journal: Path) -> None:
    task = task_frame()
    stubborn = sh("trap '' TERM; echo ready >&2; while :; do sleep 0.1; done")
    before, commands.SECONDS_TO_STOP = commands.SECONDS_TO_STOP, 0.3
    try:
        async with a_relay() as relay, a_connector(relay, journal, *stubborn):
            await relay.send(task)
            await relay.next("ack")
            await asyncio.sleep(0.2)  # gives the command time to set its trap
            asked_at = time.monotonic()
            await relay.send({"type": "cancel", "dispatch_id": task["dispatch_id"]})
            result = await relay.next("result")
    finally:
        commands.SECONDS_TO_STOP = before

    assert result["state"] == "failed"
    assert time.monotonic() - asked_at >= 0.3


@scenario
async def test_a_run_that_takes_too_long_fails(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, *WAITS):
        await relay.send(task_frame(timeout_s=0.2))
        result = await relay.next("result")

    assert (result["state"], result["text"]) == (
        "failed",
        "The agent's command took longer than 0.2 s.",
    )


@scenario
async def test_a_run_that_prints_too_much_fails(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, "yes"):
        await relay.send(task_frame())
        result = await relay.next("result")

    assert (result["state"], result["text"]) == (
        "failed",
        "The agent's command wrote more than 10 MB.",
    )


@scenario
async def test_a_run_whose_answer_is_too_large_for_the_relay_fails(journal: Path) -> None:
    async with a_relay() as relay:
        relay.welcome["frame_bytes"] = 2_000
        async with a_connector(relay, journal, *sh("yes | head -c $WAKEUP_ATTEMPT")):
            await relay.send(task := task_frame(attempt=4_000))
            too_long = await relay.next("result")
            await relay.send(task_frame(attempt=400))
            short = await relay.next("result")

    assert (too_long["state"], too_long["text"]) == (
        "failed",
        "The agent's answer is larger than the relay takes.",
    )
    assert short["state"] == "completed"
    (file,) = journal.with_name("journal.kept").iterdir()
    assert file.name == f"{task['dispatch_id']}.json"
    assert len(json.loads(file.read_text())["text"]) > 3_900


@pytest.mark.parametrize(("allowed", "warnings"), [(1, 1), (2, 0), (None, 0)])
def test_a_capacity_above_the_limit_of_the_card_is_logged_once(
    allowed: int | None, warnings: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def connect_twice() -> None:
        async with a_relay() as relay:
            relay.welcome["max_concurrency"] = allowed
            async with a_connector(relay, tmp_path / "journal", "true", capacity=2):
                await relay.next("heartbeat")
                await relay.lose()
                await relay.next("hello")
                await relay.next("heartbeat")

    asyncio.run(connect_twice())

    assert caplog.text.count("the card allows fewer runs at a time (1)") == warnings


@scenario
async def test_a_process_that_is_left_behind_does_not_delay_the_result(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, *sh("echo red; sleep 60 &")):
        await relay.send(task_frame())
        result = await relay.next("result")

    assert (result["state"], result["text"]) == ("completed", "red")


@scenario
async def test_a_missing_command_fails_without_showing_its_path(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, "/nowhere/agent"):
        await relay.send(task_frame())
        result = await relay.next("result")

    assert (result["state"], result["text"]) == (
        "failed",
        "The agent's command cannot be started.",
    )


@scenario
async def test_a_draining_connector_finishes_its_runs_and_takes_no_more(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done")
    task, late = task_frame(), task_frame()
    async with a_relay() as relay, a_connector(relay, journal, *waits) as connector:
        await relay.send(task)
        await relay.next("ack")
        connector.drain()
        await relay.next("drain")
        await relay.send(late)
        await relay.nothing_but("heartbeat", seconds=0.3)
        gate.touch()
        result = await relay.next("result")
        assert not connector.finished.is_set()
        await relay.send({"type": "done", "dispatch_id": task["dispatch_id"]})
        async with asyncio.timeout(5):
            await connector.finished.wait()

    assert result["dispatch_id"] == task["dispatch_id"]


@scenario
async def test_unknown_frames_are_ignored(journal: Path) -> None:
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.next("hello")
        for frame in ({"type": "news"}, {}, {"type": "task", "dispatch_id": "x"}, {"type": "ping"}):
            await relay.send(frame)
        await relay.next("pong")
        await relay.send(task_frame())
        result = await relay.next("result")

    assert result["text"] == "red"


@scenario
async def test_a_command_may_write_its_result_into_a_file(journal: Path) -> None:
    folder = journal.with_name("folder")
    writes = sh(
        f"dirname $WAKEUP_RESULT > {folder}; echo Hello.;"
        """ echo '{"state": "rejected", "text": "No."}' > $WAKEUP_RESULT"""
    )
    async with a_relay() as relay, a_connector(relay, journal, *writes):
        await relay.send(task_frame())
        result = await relay.next("result")

    assert (result["state"], result["text"]) == ("rejected", "No.")
    assert not Path(folder.read_text().strip()).exists()


@scenario
async def test_a_command_is_told_who_calls_and_what_they_accept(journal: Path) -> None:
    results_by_run = {
        "caller": {"name": "Build server", "id": "1"},
        "acceptedOutputModes": ["text/plain"],
        "referenceTaskIds": ["earlier"],
        "metadata": {"of": "the request"},
    }
    seen = journal.with_name("seen")
    shows = sh(f"cat > {seen}; echo $WAKEUP_CALLER")
    async with a_relay() as relay, a_connector(relay, journal, *shows):
        await relay.send(task_frame() | results_by_run)
        result = await relay.next("result")

    assert result["text"] == "Build server"
    assert results_by_run.items() <= json.loads(seen.read_text()).items()
