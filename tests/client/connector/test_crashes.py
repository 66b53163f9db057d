"""kill -9 of a connector: nothing is lost, and nothing that ended is run again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.client.relay import a_process, a_relay, task
from tests.client.test_connector import scenario, sh


@scenario
async def test_killed_while_a_command_runs_it_is_run_again_and_told_so(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done; echo attempt $WAKEUP_ATTEMPT")
    given = task()
    async with a_relay() as relay:
        async with a_process(relay.url, journal, *waits) as process:
            await relay.send(given)
            await relay.next("ack")
            process.kill()
            await process.wait()
        gate.touch()
        relay.forget()
        async with a_process(relay.url, journal, *waits):
            hello = await relay.next("hello")
            # The relay never heard of the first run, so it counts this as the first.
            await relay.send({**given, "lease_id": "another"})
            result = await relay.next("result")

    assert hello["last_dispatch_ids"] == []
    assert (result["text"], result["lease_id"]) == ("attempt 2", "another")


@scenario
async def test_killed_before_its_result_was_confirmed_it_tells_it_again(journal: Path) -> None:
    runs = journal.with_name("runs")
    once = sh(f"echo x >> {runs}; echo red")
    given = task()
    async with a_relay() as relay:
        async with a_process(relay.url, journal, *once) as process:
            await relay.send(given)
            first = await relay.next("result")
            process.kill()
            await process.wait()
        relay.forget()
        async with a_process(relay.url, journal, *once):
            hello = await relay.next("hello")
            told = await relay.next("result")
            await relay.send({**given, "lease_id": "another"})
            answered = await relay.next("result")

    assert hello["last_dispatch_ids"] == [given["dispatch_id"]]
    assert told == first
    assert answered == {**first, "lease_id": "another"}
    assert runs.read_text() == "x\n"


@scenario
async def test_killed_again_and_again_it_still_comes_to_an_end(journal: Path) -> None:
    runs = journal.with_name("runs")
    third_time = sh(f"echo x >> {runs}; test $WAKEUP_ATTEMPT -ge 3 || sleep 60; echo done")
    given = task()
    async with a_relay() as relay:
        for _ in range(2):
            async with a_process(relay.url, journal, *third_time) as process:
                await relay.send(given)
                await relay.next("ack")
                await asyncio.sleep(0.05)
                process.kill()
                await process.wait()
            relay.forget()
        async with a_process(relay.url, journal, *third_time):
            await relay.send(given)
            result = await relay.next("result")

    assert result["text"] == "done"
