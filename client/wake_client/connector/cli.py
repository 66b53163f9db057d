"""Implements `wake connect`: its arguments, log, signals and exit status."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import logging
import shlex
import shutil
import signal
import socket
import sqlite3
from collections.abc import Mapping
from contextlib import ExitStack
from enum import IntEnum
from pathlib import Path

from wake_client.connector import leftovers
from wake_client.connector.command import ENVIRONMENT, Command
from wake_client.connector.connector import Connector
from wake_client.connector.journal import Journal, JournalInUse
from wake_client.connector.session import stay_connected
from wake_client.connector.transports import (
    Disconnected,
    KeyNotValid,
    OtherProtocol,
    Refused,
    Replaced,
    agent_of,
)
from wake_client.errors import WakeError
from wake_client.http import addresses, keys
from wake_client.http.backoff import pauses
from wake_client.shell.access import known_access
from wake_client.shell.browser_login import offer, this_terminal
from wake_client.shell.output import say

logger = logging.getLogger(__name__)

# The time for sending the last frames and for closing the connection.
SECONDS_TO_LEAVE = 3.0
NO_KEY = "A key is needed: set WAKE_API_KEY, use --key, or run `wake login {url}` first."


class ExitStatus(IntEnum):
    OK = 0
    RUN_FAILED = 1
    USAGE = 2
    KEY_NOT_VALID = 3
    NO_RELAY = 4
    JOURNAL = 5
    REPLACED = 6
    KILLED = 130


EPILOG = """\
Everything after -- is the command. It is started once for each task, reads one JSON object on stdin
and answers on stdout. The README of wake-client describes both.

example:
  wake connect --url https://wake.example.com -- ./agent.sh

exit status:
  0    stopped by SIGINT or SIGTERM; with --once: the run did not fail
  1    with --once: the run failed
  2    the arguments are wrong, or the command does not exist
  3    the key is unknown, revoked or expired, or a sign-in for one failed
  4    --url is not a Wake server with a relay, or its relay speaks another version
  5    the journal cannot be used: another connector uses it, or it cannot be opened or written
  6    replaced by a connector that was started later with the same --machine
  130  stopped by a second signal or with its terminal, and its commands were stopped, too
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "wake connect --url ORIGIN [options] -- COMMAND [ARGUMENT ...]"
    parser.add_argument("--url", required=True, help="the server's address, https://...")
    parser.add_argument(
        "--key", help="the agent's key; WAKE_API_KEY is safer, because process lists show arguments"
    )
    parser.add_argument("--agent", metavar="ID", help="which stored login it uses without a key")
    parser.add_argument(
        "--capacity", type=_capacity, default=4, help="how many runs at a time (default: 4)"
    )
    parser.add_argument(
        "--machine",
        metavar="NAME",
        help="this connector's name, for people; it replaces an earlier one of the same name "
        "(default: the host name and four characters of the journal's id)",
    )
    parser.add_argument(
        "--at-most-once",
        action="store_true",
        help="fail a run that may have been started before, instead of starting it again",
    )
    parser.add_argument("--once", action="store_true", help="run one task, then exit")
    parser.add_argument(
        "--shell", action="store_true", help="pass the command to /bin/sh as one line"
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME",
        help="also pass this variable to the command; it gets only PATH, HOME and a few others",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="where runs are recorded (default: a file in $XDG_STATE_HOME/wake)",
    )
    parser.add_argument(
        "--run-log",
        type=Path,
        metavar="FILE",
        help="append the command's stderr to this file (default: this process's stderr)",
    )


def connect(arguments: argparse.Namespace, command: list[str], variables: Mapping[str, str]) -> int:
    """Runs until stopped, and returns the exit status. `variables` is this process's environment.
    Raises ValueError for arguments that cannot be valid."""
    if not command:
        raise ValueError("A command is needed, after --.")
    origin = addresses.origin(arguments.url)
    environment = _environment(variables, arguments.env)
    argv = ["/bin/sh", "-c", " ".join(command)] if arguments.shell else command
    _check_command(argv[0], environment)
    try:
        key = _key(arguments, origin, variables)
    except KeyboardInterrupt:
        say("wake: stopped")
        return ExitStatus.KILLED
    except WakeError as error:
        say(f"wake: {error}")
        return ExitStatus.KEY_NOT_VALID
    path, of_key = arguments.journal, _journal_path(variables, f"{origin}\n{key}")
    if path is None:
        try:
            agent = asyncio.run(_agent_of(origin, key))
        except KeyNotValid:
            logger.warning("%s", _about_refused_key(key))
            return ExitStatus.KEY_NOT_VALID
        except Refused as reason:
            logger.warning("%s", reason)
            return ExitStatus.NO_RELAY
        except KeyboardInterrupt:
            return ExitStatus.OK
        path = _journal_path(variables, f"{origin}\n{agent}") if agent else of_key
    with ExitStack() as resources:
        try:
            journal = resources.enter_context(Journal(path))
            if path != of_key and not arguments.journal:
                journal.adopt(of_key)  # until version 0.2 each key had its own journal
            runs = path.with_name(path.name + ".runs")
            runs.mkdir(mode=0o700, exist_ok=True)
            run_log = arguments.run_log and resources.enter_context(arguments.run_log.open("ab"))
        except JournalInUse:
            logger.warning("another connector of this agent is running here (%s): stop it", path)
            return ExitStatus.JOURNAL
        except sqlite3.Error as error:
            logger.warning("the journal %s cannot be opened: %s", path, error)
            return ExitStatus.JOURNAL
        except OSError as error:
            logger.warning("a file cannot be written: %s", error)
            return ExitStatus.JOURNAL
        connector = Connector(
            Command(argv, environment, run_log, runs),
            journal,
            capacity=1 if arguments.once else arguments.capacity,
            machine=arguments.machine or f"{socket.gethostname()[:75]}-{journal.id.hex[:4]}",
            once=arguments.once,
            at_most_once=arguments.at_most_once,
        )
        logger.info("%s waits for tasks from %s", shlex.join(command), origin)
        return asyncio.run(_run(connector, origin, key))


async def _run(connector: Connector, origin: str, key: str) -> ExitStatus:
    work = asyncio.create_task(_work(connector, origin, key))
    killed = False

    def kill() -> None:
        nonlocal killed
        killed = True
        connector.kill()
        work.cancel()

    def stop() -> None:
        if connector.is_draining:
            kill()
            return
        connector.drain()
        if connector.running:
            tasks = "1 task" if connector.running == 1 else f"{connector.running} tasks"
            logger.info("finishing %s, taking no new ones. Press Ctrl-C again to stop now", tasks)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores SIGHUP
        loop.add_signal_handler(signal.SIGHUP, kill)
    try:
        await work
    except asyncio.CancelledError:
        if not killed:
            raise
        logger.info("stopped; the commands were stopped, too, and will run again")
        return ExitStatus.KILLED
    except KeyNotValid:
        logger.warning("%s", _about_refused_key(key))
        return ExitStatus.KEY_NOT_VALID
    except Replaced as reason:
        logger.warning("%s", reason)
        return ExitStatus.REPLACED
    except (OtherProtocol, Refused) as reason:
        logger.warning("%s", reason)
        return ExitStatus.NO_RELAY
    finally:
        await connector.end()
    if unconfirmed := len(connector.journal.unconfirmed()):
        logger.info(
            "stopped; %s results did not reach the server and are sent at the next start",
            unconfirmed,
        )
    else:
        logger.info("stopped")
    return ExitStatus.RUN_FAILED if connector.once and connector.has_failed else ExitStatus.OK


def _key(arguments: argparse.Namespace, origin: str, variables: Mapping[str, str]) -> str:
    """Returns the key of the arguments, of the environment or of `wake login`. If there is none,
    offers to sign in. Raises ValueError, and WakeError if that fails."""
    if arguments.key and arguments.key.strip():
        return keys.checked(arguments.key)
    known = known_access(variables, endpoint=origin, agent_id=arguments.agent or "")
    if known.key.strip():
        return keys.checked(known.key)
    login = offer(variables, this_terminal(variables), url=origin, agent_id=known.agent_id)
    if login is None:
        raise ValueError(NO_KEY.format(url=origin))
    return login.read_key()


async def _agent_of(origin: str, key: str) -> str | None:
    """Returns the key's agent (transports.agent_of). Asks until the server answers."""
    for seconds in pauses():
        try:
            return await agent_of(origin, key)
        except Disconnected as reason:
            logger.info(
                "not connected to %s: %s; trying again in %.1f s. If it never answers, check --url",
                *(origin, reason, seconds),
            )
            await asyncio.sleep(seconds)
    return None


async def _work(connector: Connector, origin: str, key: str) -> None:
    """Works until the connector has finished. If the key is refused, active runs end first: their
    results are in the journal, and are sent with the next key."""
    if connector.command.folder:
        await leftovers.end_all(connector.command.folder)
    try:
        await _connect_until_finished(connector, origin, key)
    except KeyNotValid:
        if connector.running:
            logger.warning(
                "the key is not valid any more; waiting for %s to end. The results are sent when "
                "you start again with a new key. Repeat the signal to stop now",
                connector.running,
            )
            connector.drain()
            await connector.runs_ended()
        raise


async def _connect_until_finished(connector: Connector, origin: str, key: str) -> None:
    """Ends soon after the connector has finished, even while it is connecting to a server that
    never answers."""
    work = asyncio.create_task(stay_connected(connector, origin, key))
    finished = asyncio.create_task(connector.finished.wait())
    try:
        await asyncio.wait({work, finished}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({work}, timeout=SECONDS_TO_LEAVE)
        if work.done():
            work.result()
    finally:
        for task in (work, finished):
            task.cancel()
        await asyncio.gather(work, finished, return_exceptions=True)


def _about_refused_key(key: str) -> str:
    match key.split("_")[:2]:
        case ["wk", "call"]:
            return "this is a caller's key: use the agent's own key, wk_live_..."
        case ["wk", "test"]:
            return "a test key runs no tasks: use the agent's live key, wk_live_..."
    return (
        "the key is unknown, revoked or expired: ask an owner of the team for a new one. "
        "Tasks wait until then."
    )


def _check_command(command: str, environment: Mapping[str, str]) -> None:
    """Raises ValueError for a command that cannot be started, because every task would fail."""
    if shutil.which(command, path=environment.get("PATH")):
        return
    if Path(command).is_file():
        raise ValueError(f"{command} is not executable: run chmod +x, or name its interpreter.")
    raise ValueError(f"There is no command {command} on this machine. Try its full path.")


def _environment(variables: Mapping[str, str], names: list[str]) -> dict[str, str]:
    return {
        name: value
        for name, value in variables.items()
        if name in ENVIRONMENT or name.startswith("LC_") or name in names
    }


def _journal_path(variables: Mapping[str, str], owner: str) -> Path:
    """Names a journal by a digest, which does not reveal the key."""
    state_home = variables.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    digest = hashlib.sha256(owner.encode()).hexdigest()
    return Path(state_home) / "wake" / f"{digest[:16]}.journal"


def _capacity(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else 0
    if not 1 <= number <= 100:
        raise argparse.ArgumentTypeError("must be from 1 to 100")
    return number
