"""The relay may leave a result unconfirmed, or may no longer want the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.client.connector.relay import Relay, a_connector, a_relay, task_frame
from tests.client.connector.scenarios import scenario, sh
from wake_client.connector import results, transports
from wake_client.connector.unconfirmed import MAX_TRIES


def set_aside(journal: Path) -> list[Path]:
    return sorted(journal.with_name("journal.kept").glob("*.json"))


@scenario
async def test_a_result_that_never_gets_through_fails_its_run(journal: Path) -> None:
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        relay.welcome["heartbeat_s"] = 0.01
        await relay.send(task)
        sent = [await relay.next("result") for _ in range(MAX_TRIES + 1)]
        (file,) = set_aside(journal)

    assert [one["text"] for one in sent[:-1]] == ["red"] * MAX_TRIES
    assert sent[-1] == {
        **{"type": "result", "state": "failed", "text": results.NOT_DELIVERED["text"]},
        **{name: task[name] for name in ("dispatch_id", "lease_id")},
    }
    assert json.loads(file.read_text())["text"] == "red"


@scenario
async def test_the_substitute_is_not_sent_for_ever_and_its_lease_ends(journal: Path) -> None:
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        relay.welcome["heartbeat_s"] = 0.01
        await relay.send(task)
        for _ in range(2 * MAX_TRIES):
            await relay.next("result")
        while (await relay.next("heartbeat"))["dispatch_ids"]:
            pass
        await relay.nothing_but("heartbeat", seconds=0.2)

    assert len(set_aside(journal)) == 1


@scenario
async def test_a_result_under_a_lost_lease_is_set_aside(journal: Path) -> None:
    runs = journal.with_name("runs")
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, *sh(f"echo x >> {runs}; echo red")):
        await relay.send(task)
        first = await relay.next("result")
        await lose_lease(relay, task["dispatch_id"])
        while (await relay.next("heartbeat"))["dispatch_ids"]:
            pass
        await relay.nothing_but("heartbeat", seconds=0.2)
        (file,) = set_aside(journal)
        await relay.send({**task, "lease_id": "another", "attempt": 2})
        again = await relay.next("result")

    assert json.loads(file.read_text())["text"] == "red"
    assert again == {**first, "lease_id": "another"}
    assert runs.read_text() == "x\n"


@scenario
async def test_a_result_of_a_run_that_the_relay_does_not_know_is_set_aside(
    journal: Path,
) -> None:
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.send(task)
        await relay.next("result")
        await refuse(relay, task["dispatch_id"], "unknown_run")
        while (await relay.next("heartbeat"))["dispatch_ids"]:
            pass
        await relay.nothing_but("heartbeat", seconds=0.2)
        (file,) = set_aside(journal)

    assert json.loads(file.read_text())["text"] == "red"


@scenario
async def test_a_result_that_is_too_large_is_set_aside_and_fails_its_run(journal: Path) -> None:
    """The failure is sent once, even if the relay refuses it, too."""
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.send(task)
        await relay.next("result")
        await refuse(relay, task["dispatch_id"], "too_much")
        failure = await relay.next("result")
        (file,) = set_aside(journal)
        await refuse(relay, task["dispatch_id"], "too_much")
        while (await relay.next("heartbeat"))["dispatch_ids"]:
            pass
        await relay.nothing_but("heartbeat", seconds=0.2)

    assert (failure["state"], failure["text"]) == ("failed", results.TOO_LARGE["text"])
    assert failure["lease_id"] == task["lease_id"]
    assert json.loads(file.read_text())["text"] == "red"


@scenario
async def test_refused_progress_does_not_affect_the_result(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done; echo red")
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, *waits):
        await relay.send(task)
        await relay.next("ack")
        await refuse(relay, task["dispatch_id"], "too_much")
        gate.touch()
        result = await relay.next("result")

    assert result["text"] == "red"
    assert set_aside(journal) == []


@scenario
async def test_progress_that_is_refused_after_the_result_was_sent_does_not_affect_it(
    journal: Path,
) -> None:
    """The connector used to take the error for an error about the result. So the connector set the
    result aside, and the run failed."""
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.send(task)
        await relay.next("result")
        for code in ("too_much", "lease_lost", "unknown_run"):
            await refuse(relay, task["dispatch_id"], code, n=1)
        await relay.lose()
        await relay.next("hello")
        result = await relay.next("result")

    assert result["text"] == "red"
    assert set_aside(journal) == []


@scenario
async def test_a_result_that_the_relay_fails_to_store_is_sent_five_times(
    journal: Path,
) -> None:
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        relay.welcome["heartbeat_s"] = 0.01
        await relay.send(task)
        sent = []
        for _ in range(MAX_TRIES + 1):
            sent.append(await relay.next("result"))
            await refuse(relay, task["dispatch_id"], "failed")

    assert [one["text"] for one in sent] == ["red"] * MAX_TRIES + [results.NOT_DELIVERED["text"]]


@scenario
async def test_a_lease_lost_without_a_result_is_only_logged(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done; echo red")
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, *waits):
        await relay.send(task)
        await relay.next("ack")
        await lose_lease(relay, task["dispatch_id"])
        gate.touch()
        result = await relay.next("result")

    assert result["text"] == "red"
    assert set_aside(journal) == []


@scenario
async def test_an_answer_from_the_journal_is_sent_again_under_its_new_lease(journal: Path) -> None:
    task = task_frame()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.send(task)
        await relay.next("result")
        await relay.send({**task, "lease_id": "another"})
        await relay.next("result")
        await relay.lose()
        await relay.next("hello")
        result = await relay.next("result")

    assert result["lease_id"] == "another"


@scenario
async def test_a_silent_relay_is_left_and_the_websocket_sends_no_pings(journal: Path) -> None:
    before, transports.SECONDS_OF_SILENCE = transports.SECONDS_OF_SILENCE, 0.2
    try:
        async with a_relay() as relay, a_connector(relay, journal, "true"):
            await relay.next("hello")
            await relay.next("hello")
    finally:
        transports.SECONDS_OF_SILENCE = before
    async with a_relay() as relay, transports.websocket(relay.url, "key") as link:
        assert link._connection.ping_interval is None


async def lose_lease(relay: Relay, dispatch_id: str) -> None:
    await refuse(relay, dispatch_id, "lease_lost")


async def refuse(relay: Relay, dispatch_id: str, code: str, **more: Any) -> None:
    error = {"type": "error", "code": code, "message": "This cannot be taken."}
    await relay.send({**error, "dispatch_id": dispatch_id, **more})
