"""After kill -9, a connector loses nothing and repeats no run that has ended."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from tests.client.connector.relay import a_process, a_relay, task_frame
from tests.client.connector.scenarios import is_gone, pid_in, scenario, sh


@scenario
async def test_after_kill_9_an_unfinished_run_starts_again_as_attempt_2(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done; echo attempt $WAKEUP_ATTEMPT")
    task = task_frame()
    async with a_relay() as relay:
        async with a_process(relay.url, journal, *waits) as process:
            await relay.send(task)
            await relay.next("ack")
            process.kill()
            await process.wait()
        gate.touch()
        relay.forget()
        async with a_process(relay.url, journal, *waits):
            hello = await relay.next("hello")
            # The relay never received the first start, so it counts this start as the first.
            await relay.send({**task, "lease_id": "another"})
            result = await relay.next("result")

    assert hello["last_dispatch_ids"] == []
    assert (result["text"], result["lease_id"]) == ("attempt 2", "another")


@scenario
async def test_after_kill_9_an_unconfirmed_result_is_sent_again(journal: Path) -> None:
    runs = journal.with_name("runs")
    once = sh(f"echo x >> {runs}; echo red")
    task = task_frame()
    async with a_relay() as relay:
        async with a_process(relay.url, journal, *once) as process:
            await relay.send(task)
            first = await relay.next("result")
            process.kill()
            await process.wait()
        relay.forget()
        async with a_process(relay.url, journal, *once):
            hello = await relay.next("hello")
            second = await relay.next("result")
            await relay.send({**task, "lease_id": "another"})
            answered = await relay.next("result")

    assert hello["last_dispatch_ids"] == [task["dispatch_id"]]
    assert second == first
    assert answered == {**first, "lease_id": "another"}
    assert runs.read_text() == "x\n"


@scenario
async def test_killed_again_and_again_a_run_still_ends(journal: Path) -> None:
    runs = journal.with_name("runs")
    third_time = sh(f"echo x >> {runs}; test $WAKEUP_ATTEMPT -ge 3 || sleep 60; echo done")
    task = task_frame()
    async with a_relay() as relay:
        for _ in range(2):
            async with a_process(relay.url, journal, *third_time) as process:
                await relay.send(task)
                await relay.next("ack")
                await asyncio.sleep(0.05)
                process.kill()
                await process.wait()
            relay.forget()
        async with a_process(relay.url, journal, *third_time):
            await relay.send(task)
            result = await relay.next("result")

    assert result["text"] == "done"


@scenario
async def test_a_process_with_the_same_journal_is_the_same_connector(journal: Path) -> None:
    async with a_relay() as relay:
        async with a_process(relay.url, journal, "true") as process:
            first = await relay.next("hello")
            await relay.lose()
            again = await relay.next("hello")
            process.kill()
            await process.wait()
        relay.forget()
        async with a_process(relay.url, journal, "true"):
            restarted = await relay.next("hello")
        relay.forget()
        async with a_process(relay.url, journal.with_name("other"), "true"):
            other = await relay.next("hello")

    assert first["instance_id"] == again["instance_id"] == restarted["instance_id"]
    assert [hello["first"] for hello in (first, again, restarted)] == [True, False, True]
    assert first["machine"] == restarted["machine"]
    assert first["machine"] != other["machine"]
    assert first["instance_id"] != other["instance_id"]


@scenario
async def test_what_the_command_left_running_on_purpose_goes_on(journal: Path) -> None:
    """A process that starts its own session leaves the process group, but still holds the lock."""
    pid = journal.with_name("pid")
    command = sh(f"setsid sleep 60 & echo $! > {pid}")
    async with a_relay() as relay:
        async with a_process(relay.url, journal, *command) as process:
            await relay.send(task_frame())
            daemon = await pid_in(pid)
            await relay.next("ack")
            process.kill()
            await process.wait()
        relay.forget()
        async with a_process(relay.url, journal, *command):
            await relay.next("hello")
            assert Path(f"/proc/{daemon}").exists()
            os.kill(daemon, signal.SIGKILL)


@scenario
async def test_a_run_that_may_run_once_is_not_started_again_after_kill_9(journal: Path) -> None:
    runs = journal.with_name("runs")
    command, options = sh(f"echo x >> {runs}; sleep 60"), ("--at-most-once", "--machine", "mill")
    task = task_frame()
    async with a_relay() as relay:
        async with a_process(relay.url, journal, *command, options=options) as process:
            hello = await relay.next("hello")
            await relay.send(task)
            await relay.next("ack")
            process.kill()
            await process.wait()
        relay.forget()
        async with a_process(relay.url, journal, *command, options=options):
            await relay.send({**task, "lease_id": "another"})
            result = await relay.next("result")

    assert hello["machine"] == "mill"
    assert result["state"] == "failed"
    assert "may not be started twice" in result["text"]
    assert runs.read_text() == "x\n"


@scenario
async def test_a_run_of_another_machine_is_not_started_either(journal: Path) -> None:
    options = ("--at-most-once",)
    async with a_relay() as relay, a_process(relay.url, journal, "true", options=options):
        await relay.send(task_frame() | {"attempt": 2})
        result = await relay.next("result")

    assert result["state"] == "failed"


@scenario
async def test_a_command_that_outlived_its_connector_is_ended_before_its_run_starts_again(
    journal: Path,
) -> None:
    pid = journal.with_name("pid")
    of_the_shell = f"sleep 60 & echo $! > {pid}; wait"
    command = sh(f"test $WAKEUP_ATTEMPT = 2 || {{ {of_the_shell}; }}; echo done")
    task = task_frame()
    async with a_relay() as relay:
        async with a_process(relay.url, journal, *command) as process:
            await relay.send(task)
            first = await pid_in(pid)
            process.kill()
            await process.wait()
        assert Path(f"/proc/{first}").exists()
        relay.forget()
        async with a_process(relay.url, journal, *command):
            await relay.next("hello")
            assert await is_gone(first)
            await relay.send({**task, "lease_id": "another"})
            result = await relay.next("result")

    assert result["text"] == "done"
    assert list(journal.with_name("journal.runs").iterdir()) == []
