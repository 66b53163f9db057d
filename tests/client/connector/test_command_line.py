"""`wake connect` handles its arguments and signals, and ends with the right status."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.client.connector.relay import CLIENT, KEY, Relay, a_process, a_relay, ended, task_frame
from tests.client.connector.scenarios import is_gone, pid_in, scenario, sh
from wake_client.connector import transports
from wake_client.connector.cli import ExitStatus


@scenario
async def test_an_invalid_key_ends_it_and_is_not_shown(journal: Path) -> None:
    async with a_relay() as relay:
        relay.refuses = HTTPStatus.UNAUTHORIZED
        async with a_process(relay.url, journal, "true") as process:
            status = await ended(process)

    log = journal.with_suffix(".log").read_text()
    assert status == ExitStatus.KEY_NOT_VALID
    assert "the key is unknown, revoked or expired" in log
    assert KEY not in log


@scenario
async def test_a_key_that_is_revoked_while_it_runs_ends_it(journal: Path) -> None:
    async with a_relay() as relay, a_process(relay.url, journal, "true") as process:
        await relay.next("hello")
        await relay.lose(4401)
        status = await ended(process)

    assert status == ExitStatus.KEY_NOT_VALID


@pytest.mark.parametrize("how", ["closed", "welcomed"])
def test_a_relay_of_another_protocol_ends_it(tmp_path: Path, how: str) -> None:
    async def run() -> int:
        async with a_relay() as relay:
            relay.welcome["protocol"] = 1 if how == "closed" else 2
            async with a_process(relay.url, tmp_path / "journal", "true") as process:
                await relay.next("hello")
                if how == "closed":
                    await relay.lose(4406)
                return await ended(process)

    assert asyncio.run(run()) == ExitStatus.NO_RELAY


@scenario
async def test_one_signal_lets_active_runs_end(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done; echo red")
    task = task_frame()
    async with a_relay() as relay, a_process(relay.url, journal, *waits) as process:
        await relay.send(task)
        await relay.next("ack")
        process.send_signal(signal.SIGTERM)
        await relay.next("drain")
        gate.touch()
        result = await relay.next("result")
        await relay.send({"type": "done", "dispatch_id": task["dispatch_id"]})
        status = await ended(process)

    assert (status, result["text"]) == (ExitStatus.OK, "red")


@scenario
async def test_a_second_signal_stops_active_runs(journal: Path) -> None:
    mark = journal.with_name("mark")
    async with a_relay() as relay:
        command = sh(f"sleep 1; touch {mark}")
        async with a_process(relay.url, journal, *command) as process:
            await relay.send(task_frame())
            await relay.next("ack")
            process.send_signal(signal.SIGINT)
            await relay.next("drain")
            process.send_signal(signal.SIGINT)
            status = await ended(process)
        await relay.nothing_but("heartbeat", seconds=1.2)

    assert status == ExitStatus.KILLED
    assert not mark.exists()


@scenario
async def test_closing_the_terminal_stops_active_runs(journal: Path) -> None:
    pids = journal.with_name("pids")
    async with a_relay() as relay:
        command = sh(f"echo $$ > {pids}; sleep 60")
        async with a_process(relay.url, journal, *command) as process:
            await relay.send(task_frame())
            await relay.next("ack")
            child = await pid_in(pids)
            process.send_signal(signal.SIGHUP)
            status = await ended(process)

    assert status == ExitStatus.KILLED
    assert await is_gone(child)


@scenario
async def test_it_can_be_stopped_while_the_server_does_not_answer(journal: Path) -> None:
    called = asyncio.Event()

    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(never_answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with a_process(url, journal, "true") as process:
            await called.wait()
            process.send_signal(signal.SIGINT)
            async with asyncio.timeout(transports.SECONDS_TO_CONNECT - 1):
                status = await process.wait()

    assert status == ExitStatus.OK


@scenario
async def test_a_signal_ends_it_at_once_when_nothing_runs(journal: Path) -> None:
    async with a_relay() as relay, a_process(relay.url, journal, "true") as process:
        await relay.next("hello")
        process.send_signal(signal.SIGTERM)
        await relay.next("drain")
        status = await ended(process)

    assert status == ExitStatus.OK


@pytest.mark.parametrize(("script", "expected"), [("echo red", ExitStatus.OK), ("exit 3", 1)])
def test_once_runs_one_task_and_exits_with_its_status(
    tmp_path: Path, script: str, expected: int
) -> None:
    async def run() -> int:
        task = task_frame()
        once = {"options": ("--once",)}
        async with (
            a_relay() as relay,
            a_process(relay.url, tmp_path / "journal", *sh(script), **once) as process,
        ):
            hello = await relay.next("hello")
            assert hello["capacity"] == 1
            await relay.send(task)
            await relay.next("result")
            await relay.send({"type": "done", "dispatch_id": task["dispatch_id"]})
            return await ended(process)

    assert asyncio.run(run()) == expected


@scenario
async def test_stderr_of_a_command_is_logged_and_not_sent(journal: Path) -> None:
    run_log = journal.with_name("runs.log")
    options = ("--run-log", str(run_log), "--shell")
    async with (
        a_relay() as relay,
        a_process(
            relay.url, journal, "echo the secret of this machine >&2;", "exit 1", options=options
        ),
    ):
        await relay.send(task_frame())
        result = await relay.next("result")

    assert run_log.read_text() == "the secret of this machine\n"
    assert "secret" not in str(result)


@scenario
async def test_a_variable_is_passed_on_only_if_it_is_named(journal: Path) -> None:
    options = ("--env", "PYTHONPATH")
    async with a_relay() as relay, a_process(relay.url, journal, "env", options=options):
        await relay.send(task_frame())
        result = await relay.next("result")

    assert f"PYTHONPATH={CLIENT}" in result["text"].splitlines()
    assert KEY not in result["text"]


@scenario
async def test_a_journal_is_for_one_connector(journal: Path) -> None:
    async with a_relay() as relay, a_process(relay.url, journal, "true"):
        await relay.next("hello")
        async with a_process(relay.url, journal, "true") as second:
            status = await ended(second)

    assert status == ExitStatus.JOURNAL


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--url", "http://wake.example.com", "--", "true"], "over https"),
        (["--url", "https://wake.example.com"], "A command is needed"),
        (["--url", "wake.example.com", "--", "true"], "begins with https://"),
        (["--url", "https://wake.example.com/@home/painter", "--", "true"], "for calling an agent"),
        (["--url", "https://wake.example.com", "python3", "agent.py"], "command after --"),
        (["--url", "https://wake.example.com", "--", "no-such-agent"], "no command no-such-agent"),
        (["--url", "https://wake.example.com", "--", "/etc/passwd"], "chmod +x"),
        (["--url", "https://wake.example.com", "--key", "wk live", "--", "true"], "not a key"),
        (["--", "true"], "--url"),
        (["--url", "https://wake.example.com", "--capacity", "0", "--", "true"], "from 1 to 100"),
        (["--url", "https://wake.example.com", "--capacity", "x", "--", "true"], "from 1 to 100"),
    ],
)
def test_invalid_arguments_are_refused(arguments: list[str], expected: str) -> None:
    done = _connect(*arguments, WAKE_API_KEY=KEY)

    assert done.returncode == ExitStatus.USAGE
    assert expected in done.stderr


@pytest.mark.parametrize(
    ("key", "expected"),
    [("wk_call_made_up", "a caller's key"), ("wk_test_made_up", "a test key runs no tasks")],
)
def test_a_key_of_another_kind_is_explained(tmp_path: Path, key: str, expected: str) -> None:
    async def run() -> int:
        async with a_relay() as relay:
            relay.refuses = HTTPStatus.UNAUTHORIZED
            options = {"options": ("--key", key)}
            async with a_process(relay.url, tmp_path / "journal", "true", **options) as process:
                return await ended(process)

    assert asyncio.run(run()) == ExitStatus.KEY_NOT_VALID
    assert expected in (tmp_path / "journal.log").read_text()


@scenario
async def test_the_log_says_why_a_run_failed(journal: Path) -> None:
    async with a_relay() as relay, a_process(relay.url, journal, *sh("exit 3")):
        await relay.send(task_frame())
        await relay.next("result")

    assert "failed: The agent's command ended with status 3." in log_of(journal)


@scenario
async def test_it_waits_for_a_server_that_is_away_and_names_it(journal: Path) -> None:
    async with a_relay() as relay:
        url = relay.url
    async with a_process(url, journal, "true") as process:
        async with asyncio.timeout(30):
            while log_of(journal).count(f"not connected to {url}") < 2:
                await asyncio.sleep(0.05)
        process.send_signal(signal.SIGINT)
        status = await ended(process)

    assert status == ExitStatus.OK
    assert log_of(journal).count("check --url") == 1


@scenario
async def test_two_agents_on_one_machine_have_a_journal_each(journal: Path) -> None:
    state = journal.with_name("state")

    async with a_relay() as relay:
        agents = [
            await process_with(f"{KEY}_{name}", relay, state, "true") for name in ("one", "two")
        ]
        for _ in agents:
            await relay.next("hello")
        for agent in agents:
            agent.terminate()
            assert await ended(agent) == ExitStatus.OK

    journals = list(state.glob("wake/*.journal"))
    assert len(journals) == 2
    assert not any(KEY in str(one) for one in journals)


AGENT = "8d6f2c2e-2f53-4a0f-b0a5-4a1f0f4f9d11"


def process_with(
    key: str, relay: Relay, state: Path, *argv: str
) -> Coroutine[Any, Any, asyncio.subprocess.Process]:
    """Starts `wake connect` with a key, but without the option that names a journal."""
    return asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "wake_client", "connect", "--url", relay.url, "--", *argv),
        env={
            **{"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT)},
            **{"WAKE_API_KEY": key, "XDG_STATE_HOME": str(state)},
        },
        stderr=asyncio.subprocess.DEVNULL,
    )


@scenario
async def test_the_next_key_of_an_agent_sends_the_unsent_results_of_the_last(journal: Path) -> None:
    state, runs = journal.with_name("state"), journal.with_name("runs")
    command, task = sh(f"echo x >> {runs}; echo red"), task_frame()
    async with a_relay() as relay:
        relay.agent = AGENT
        first = await process_with(f"{KEY}_one", relay, state, *command)
        await relay.send(task)
        owed = await relay.next("result")
        first.kill()
        await first.wait()
        relay.forget()
        second = await process_with(f"{KEY}_two", relay, state, *command)
        hello = await relay.next("hello")
        sent = await relay.next("result")
        await relay.send({"type": "done", "dispatch_id": task["dispatch_id"]})
        second.terminate()
        assert await ended(second) == ExitStatus.OK

    assert hello["last_dispatch_ids"] == [task["dispatch_id"]]
    assert sent == owed
    assert runs.read_text() == "x\n"


@scenario
async def test_a_run_ends_although_its_key_is_revoked_and_its_result_is_sent_with_the_next(
    journal: Path,
) -> None:
    state, runs, gate = (journal.with_name(name) for name in ("state", "runs", "gate"))
    waits = f"while ! test -e {gate}; do sleep 0.05; done"
    command, task = sh(f"echo x >> {runs}; {waits}; echo red"), task_frame()
    async with a_relay() as relay:
        relay.agent = AGENT
        first = await process_with(f"{KEY}_one", relay, state, *command)
        await relay.send(task)
        await relay.next("ack")
        await relay.lose(4401)
        gate.touch()
        status = await ended(first)
        relay.forget()
        second = await process_with(f"{KEY}_two", relay, state, *command)
        result = await relay.next("result")
        second.kill()
        await second.wait()

    assert status == ExitStatus.KEY_NOT_VALID
    assert (result["text"], result["dispatch_id"]) == ("red", task["dispatch_id"])
    assert runs.read_text() == "x\n"


@scenario
async def test_the_journal_of_a_key_becomes_that_of_its_agent(journal: Path) -> None:
    state, task = journal.with_name("state"), task_frame()
    async with a_relay() as relay:
        before = await process_with(KEY, relay, state, "echo", "red")
        await relay.send(task)
        owed = await relay.next("result")
        before.kill()
        await before.wait()
        relay.forget()
        relay.agent = AGENT
        after = await process_with(KEY, relay, state, "echo", "red")
        sent = await relay.next("result")
        after.kill()
        await after.wait()

    assert sent == owed
    assert len(list(state.glob("wake/*.journal"))) == 1


def test_without_a_key_it_asks_for_one() -> None:
    done = _connect("--url", "https://wake.example.com", "--", "true")

    assert done.returncode == ExitStatus.USAGE
    assert "WAKE_API_KEY" in done.stderr


def log_of(journal: Path) -> str:
    """Returns what has been logged so far."""
    return journal.with_suffix(".log").read_text()


def _connect(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wake_client", "connect", *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
