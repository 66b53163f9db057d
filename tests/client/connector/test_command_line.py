"""`wake connect` as a process: its arguments, signals and exit statuses."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.client.relay import CLIENT, KEY, a_process, a_relay, ended, task
from tests.client.test_connector import is_gone, pid_in, scenario, sh
from wake_client.connector import cli, links


@scenario
async def test_a_key_that_is_not_valid_ends_it_and_is_not_shown(journal: Path) -> None:
    async with a_relay() as relay:
        relay.refuses = HTTPStatus.UNAUTHORIZED
        async with a_process(relay.url, journal, "true") as process:
            status = await ended(process)

    log = journal.with_suffix(".log").read_text()
    assert status == cli.NO_KEY
    assert "the key is not valid, or not any more" in log
    assert KEY not in log


@scenario
async def test_a_key_that_is_revoked_meanwhile_ends_it(journal: Path) -> None:
    async with a_relay() as relay, a_process(relay.url, journal, "true") as process:
        await relay.next("hello")
        await relay.lose(4401)
        status = await ended(process)

    assert status == cli.NO_KEY


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

    assert asyncio.run(run()) == cli.NO_RELAY


@scenario
async def test_one_signal_waits_for_what_runs(journal: Path) -> None:
    gate = journal.with_name("gate")
    waits = sh(f"while ! test -e {gate}; do sleep 0.05; done; echo red")
    given = task()
    async with a_relay() as relay, a_process(relay.url, journal, *waits) as process:
        await relay.send(given)
        await relay.next("ack")
        process.send_signal(signal.SIGTERM)
        await relay.next("drain")
        gate.touch()
        result = await relay.next("result")
        await relay.send({"type": "done", "dispatch_id": given["dispatch_id"]})
        status = await ended(process)

    assert (status, result["text"]) == (cli.FINE, "red")


@scenario
async def test_a_second_signal_ends_what_runs_too(journal: Path) -> None:
    mark = journal.with_name("mark")
    async with a_relay() as relay:
        command = sh(f"sleep 1; touch {mark}")
        async with a_process(relay.url, journal, *command) as process:
            await relay.send(task())
            await relay.next("ack")
            process.send_signal(signal.SIGINT)
            await relay.next("drain")
            process.send_signal(signal.SIGINT)
            status = await ended(process)
        await relay.nothing_but("heartbeat", seconds=1.2)

    assert status == cli.KILLED
    assert not mark.exists()


@scenario
async def test_with_its_terminal_what_runs_ends_too(journal: Path) -> None:
    pids = journal.with_name("pids")
    async with a_relay() as relay:
        command = sh(f"echo $$ > {pids}; sleep 60")
        async with a_process(relay.url, journal, *command) as process:
            await relay.send(task())
            await relay.next("ack")
            child = await pid_in(pids)
            process.send_signal(signal.SIGHUP)
            status = await ended(process)

    assert status == cli.KILLED
    assert await is_gone(child)


@scenario
async def test_a_server_that_never_answers_does_not_hold_it(journal: Path) -> None:
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
            async with asyncio.timeout(links.SECONDS_TO_CONNECT - 1):
                status = await process.wait()

    assert status == cli.FINE


@scenario
async def test_a_signal_with_nothing_to_wait_for_ends_it_at_once(journal: Path) -> None:
    async with a_relay() as relay, a_process(relay.url, journal, "true") as process:
        await relay.next("hello")
        process.send_signal(signal.SIGTERM)
        await relay.next("drain")
        status = await ended(process)

    assert status == cli.FINE


@pytest.mark.parametrize(("script", "expected"), [("echo red", cli.FINE), ("exit 3", 1)])
def test_once_runs_one_task_and_says_how_it_went(
    tmp_path: Path, script: str, expected: int
) -> None:
    async def run() -> int:
        given = task()
        once = {"options": ("--once",)}
        async with (
            a_relay() as relay,
            a_process(relay.url, tmp_path / "journal", *sh(script), **once) as process,
        ):
            hello = await relay.next("hello")
            assert hello["capacity"] == 1
            await relay.send(given)
            await relay.next("result")
            await relay.send({"type": "done", "dispatch_id": given["dispatch_id"]})
            return await ended(process)

    assert asyncio.run(run()) == expected


@scenario
async def test_what_a_command_says_on_stderr_is_logged_and_not_told(journal: Path) -> None:
    run_log = journal.with_name("runs.log")
    options = ("--run-log", str(run_log), "--shell")
    async with (
        a_relay() as relay,
        a_process(
            relay.url, journal, "echo the secret of this machine >&2;", "exit 1", options=options
        ),
    ):
        await relay.send(task())
        result = await relay.next("result")

    assert run_log.read_text() == "the secret of this machine\n"
    assert "secret" not in str(result)


@scenario
async def test_a_variable_is_passed_on_where_it_was_named(journal: Path) -> None:
    options = ("--env", "PYTHONPATH")
    async with a_relay() as relay, a_process(relay.url, journal, "env", options=options):
        await relay.send(task())
        result = await relay.next("result")

    assert f"PYTHONPATH={CLIENT}" in result["text"].splitlines()
    assert KEY not in result["text"]


@scenario
async def test_a_journal_is_for_one_connector(journal: Path) -> None:
    async with a_relay() as relay, a_process(relay.url, journal, "true"):
        await relay.next("hello")
        async with a_process(relay.url, journal, "true") as second:
            status = await ended(second)

    assert status == cli.JOURNAL


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--url", "http://wake.example.com", "--", "true"], "over https"),
        (["--url", "https://wake.example.com"], "A command is needed"),
        (["--url", "wake.example.com", "--", "true"], "begins with https://"),
        (["--url", "https://wake.example.com/@home/painter", "--", "true"], "is called"),
        (["--url", "https://wake.example.com", "python3", "agent.py"], "goes behind --"),
        (["--url", "https://wake.example.com", "--", "no-such-agent"], "no command no-such-agent"),
        (["--url", "https://wake.example.com", "--", "/etc/passwd"], "chmod +x"),
        (["--url", "https://wake.example.com", "--key", "wk live", "--", "true"], "no key"),
        (["--", "true"], "--url"),
        (["--url", "https://wake.example.com", "--capacity", "0", "--", "true"], "from 1 to 100"),
        (["--url", "https://wake.example.com", "--capacity", "x", "--", "true"], "from 1 to 100"),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments: list[str], says: str) -> None:
    done = _connect(*arguments, WAKE_API_KEY=KEY)

    assert done.returncode == cli.USAGE
    assert says in done.stderr


@pytest.mark.parametrize(
    ("key", "says"), [("wk_call_made_up", "a caller's key"), ("wk_test_made_up", "with a test key")]
)
def test_a_key_of_another_kind_is_said_to_be_one(tmp_path: Path, key: str, says: str) -> None:
    async def run() -> int:
        async with a_relay() as relay:
            relay.refuses = HTTPStatus.UNAUTHORIZED
            options = {"options": ("--key", key)}
            async with a_process(relay.url, tmp_path / "journal", "true", **options) as process:
                return await ended(process)

    assert asyncio.run(run()) == cli.NO_KEY
    assert says in (tmp_path / "journal.log").read_text()


@scenario
async def test_why_a_run_failed_is_said_here(journal: Path) -> None:
    async with a_relay() as relay, a_process(relay.url, journal, *sh("exit 3")):
        await relay.send(task())
        await relay.next("result")

    assert "failed: The agent's command ended with status 3." in log_of(journal)


@scenario
async def test_a_server_that_is_away_is_waited_for_and_named(journal: Path) -> None:
    async with a_relay() as relay:
        url = relay.url
    async with a_process(url, journal, "true") as process:
        async with asyncio.timeout(30):
            while log_of(journal).count(f"not connected to {url}") < 2:
                await asyncio.sleep(0.05)
        process.send_signal(signal.SIGINT)
        status = await ended(process)

    assert status == cli.FINE
    assert log_of(journal).count("look at --url") == 1


@scenario
async def test_two_agents_of_one_machine_have_a_journal_each(journal: Path) -> None:
    state = str(journal.with_name("state"))

    async def start(key: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "wake_client", "connect", "--url", relay.url, "--", "true"),
            env={
                **{"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT)},
                **{"WAKE_API_KEY": key, "XDG_STATE_HOME": state},
            },
            stderr=asyncio.subprocess.DEVNULL,
        )

    async with a_relay() as relay:
        agents = [await start(f"{KEY}_{name}") for name in ("one", "two")]
        for _ in agents:
            await relay.next("hello")
        for agent in agents:
            agent.terminate()
            assert await ended(agent) == cli.FINE

    journals = list(Path(state).glob("wake/*.journal"))
    assert len(journals) == 2
    assert not any(KEY in str(one) for one in journals)


def test_without_a_key_it_asks_for_one() -> None:
    done = _connect("--url", "https://wake.example.com", "--", "true")

    assert done.returncode == cli.USAGE
    assert "WAKE_API_KEY" in done.stderr


def log_of(journal: Path) -> str:
    """So far."""
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
