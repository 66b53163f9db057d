"""kill -9 of a connector loses nothing, and runs nothing again that has ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.client.connector.relay import a_process, a_relay, task_frame
from tests.client.connector.scenarios import scenario, sh


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
            # The relay never heard of the first run, so it counts this as the first.
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
