"""Results that the relay does not confirm, or does not want any more."""

from __future__ import annotations

import json
from pathlib import Path

from tests.client.relay import Relay, a_connector, a_relay, task
from tests.client.test_connector import scenario, sh
from wake_client.connector import links, results
from wake_client.connector.owed import MOST_TRIES


def kept_in(journal: Path) -> list[Path]:
    return sorted(journal.with_name("journal.kept").glob("*.json"))


@scenario
async def test_a_result_that_never_gets_through_is_a_run_that_failed(journal: Path) -> None:
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        relay.welcome["heartbeat_s"] = 0.01
        await relay.send(given)
        told = [await relay.next("result") for _ in range(MOST_TRIES + 1)]
        (kept,) = kept_in(journal)

    assert [one["text"] for one in told[:-1]] == ["red"] * MOST_TRIES
    assert told[-1] == {
        **{"type": "result", "state": "failed", "text": results.UNTOLD["text"]},
        **{name: given[name] for name in ("dispatch_id", "lease_id")},
    }
    assert json.loads(kept.read_text())["text"] == "red"


@scenario
async def test_nor_is_that_told_for_ever_and_its_lease_is_let_go(journal: Path) -> None:
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        relay.welcome["heartbeat_s"] = 0.01
        await relay.send(given)
        for _ in range(2 * MOST_TRIES):
            await relay.next("result")
        while (await relay.next("heartbeat"))["dispatch_ids"]:
            pass
        await relay.nothing_but("heartbeat", seconds=0.2)

    assert len(kept_in(journal)) == 1


@scenario
async def test_a_result_under_a_lost_lease_is_set_aside(journal: Path) -> None:
    runs = journal.with_name("runs")
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, *sh(f"echo x >> {runs}; echo red")):
        await relay.send(given)
        first = await relay.next("result")
        await lose_lease(relay, given["dispatch_id"])
        while (await relay.next("heartbeat"))["dispatch_ids"]:
            pass
        await relay.nothing_but("heartbeat", seconds=0.2)
        (kept,) = kept_in(journal)
        await relay.send({**given, "lease_id": "another", "attempt": 2})
        again = await relay.next("result")

    assert json.loads(kept.read_text())["text"] == "red"
    assert again == {**first, "lease_id": "another"}
    assert runs.read_text() == "x\n"


@scenario
async def test_a_result_of_a_run_that_the_relay_has_not_got_is_set_aside_at_once(
    journal: Path,
) -> None:
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.send(given)
        await relay.next("result")
        await refuse(relay, given["dispatch_id"], "unknown_run")
        while (await relay.next("heartbeat"))["dispatch_ids"]:
            pass
        await relay.nothing_but("heartbeat", seconds=0.2)
        (kept,) = kept_in(journal)

    assert json.loads(kept.read_text())["text"] == "red"


@scenario
async def test_a_result_that_is_too_much_is_kept_and_the_task_says_so(journal: Path) -> None:
    """And that is said once, whatever the relay thinks of it."""
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.send(given)
        await relay.next("result")
        await refuse(relay, given["dispatch_id"], "too_much")
        said = await relay.next("result")
        (kept,) = kept_in(journal)
        await refuse(relay, given["dispatch_id"], "too_much")
        while (await relay.next("heartbeat"))["dispatch_ids"]:
            pass
        await relay.nothing_but("heartbeat", seconds=0.2)

    assert (said["state"], said["text"]) == ("failed", results.TOO_MUCH["text"])
    assert said["lease_id"] == given["lease_id"]
    assert json.loads(kept.read_text())["text"] == "red"


@scenario
async def test_progress_that_is_too_much_takes_no_result_with_it(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done; echo red")
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, *waits):
        await relay.send(given)
        await relay.next("ack")
        await refuse(relay, given["dispatch_id"], "too_much")
        gate.touch()
        result = await relay.next("result")

    assert result["text"] == "red"
    assert kept_in(journal) == []


@scenario
async def test_a_result_that_the_relay_fails_at_is_tried_so_often_and_not_for_ever(
    journal: Path,
) -> None:
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        relay.welcome["heartbeat_s"] = 0.01
        await relay.send(given)
        told = []
        for _ in range(MOST_TRIES + 1):
            told.append(await relay.next("result"))
            await refuse(relay, given["dispatch_id"], "failed")

    assert [one["text"] for one in told] == ["red"] * MOST_TRIES + [results.UNTOLD["text"]]


@scenario
async def test_a_lease_lost_without_a_result_is_only_logged(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done; echo red")
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, *waits):
        await relay.send(given)
        await relay.next("ack")
        await lose_lease(relay, given["dispatch_id"])
        gate.touch()
        result = await relay.next("result")

    assert result["text"] == "red"
    assert kept_in(journal) == []


@scenario
async def test_an_answer_from_the_journal_is_told_again_under_its_new_lease(journal: Path) -> None:
    given = task()
    async with a_relay() as relay, a_connector(relay, journal, "echo", "red"):
        await relay.send(given)
        await relay.next("result")
        await relay.send({**given, "lease_id": "another"})
        await relay.next("result")
        await relay.lose()
        await relay.next("hello")
        told = await relay.next("result")

    assert told["lease_id"] == "another"


@scenario
async def test_a_relay_that_falls_silent_is_left_and_no_ping_waits_for_it(journal: Path) -> None:
    before, links.SECONDS_OF_SILENCE = links.SECONDS_OF_SILENCE, 0.2
    try:
        async with a_relay() as relay, a_connector(relay, journal, "true"):
            await relay.next("hello")
            await relay.next("hello")
    finally:
        links.SECONDS_OF_SILENCE = before
    async with a_relay() as relay, links.websocket(relay.url, "key") as link:
        assert link._connection.ping_interval is None


async def lose_lease(relay: Relay, dispatch_id: str) -> None:
    await refuse(relay, dispatch_id, "lease_lost")


async def refuse(relay: Relay, dispatch_id: str, code: str) -> None:
    error = {"type": "error", "code": code, "message": "This cannot be taken."}
    await relay.send({**error, "dispatch_id": dispatch_id})
