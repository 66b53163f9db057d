"""`wake connect`: the arguments, the log on stderr, the signals and the exit status."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import logging
import shlex
import shutil
import signal
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from wake_client import addresses, keys
from wake_client.connector.command import ENVIRONMENT, Command
from wake_client.connector.connector import Connector
from wake_client.connector.journal import Journal, JournalInUse
from wake_client.connector.links import KeyNotValid, OtherProtocol, Refused, Replaced
from wake_client.connector.session import stay_connected

logger = logging.getLogger(__name__)

FINE, RUN_FAILED, USAGE, NO_KEY, NO_RELAY, JOURNAL, REPLACED, KILLED = 0, 1, 2, 3, 4, 5, 6, 130
# For the last frames, and the end of the connection.
SECONDS_TO_LEAVE = 3.0
EPILOG = """\
Everything after -- is the command. It is started once for each task, with one JSON object on
stdin, and answers on stdout; see the README of wake-client.

exit status:
  0    drained after SIGINT or SIGTERM; with --once, the run did not fail
  1    with --once: the run failed
  2    the arguments are wrong, or there is no such command
  3    the key is not valid (any more)
  4    what answers at --url is no relay, or speaks another version
  5    the journal cannot be used: another connector has it, or the disk refuses it
  6    a connector that was started later on this machine took over
  130  stopped by a second signal, or with its terminal (SIGHUP), and so were the commands
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "wake connect --url ORIGIN [options] -- COMMAND [ARGUMENT ...]"
    parser.add_argument("--url", required=True, help="where the server is, https://...")
    parser.add_argument(
        "--key", help="the agent's key; better in WAKE_API_KEY, where no process list shows it"
    )
    parser.add_argument("--capacity", type=_count, default=4, help="runs at a time (4)")
    parser.add_argument("--once", action="store_true", help="run one task, then exit")
    parser.add_argument(
        "--shell", action="store_true", help="the command is one line for /bin/sh, not a list"
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME",
        help="a variable that the command is given, too; it has PATH, HOME and the like, no others",
    )
    parser.add_argument("--journal", type=Path, help="a file (below $XDG_STATE_HOME/wake)")
    parser.add_argument(
        "--run-log", type=Path, metavar="FILE", help="takes the command's stderr (this one's)"
    )


def connect(arguments: argparse.Namespace, command: list[str], given: Mapping[str, str]) -> int:
    """The exit status. `given` is this process's environment. Raises ValueError for arguments that
    cannot be."""
    key = (arguments.key or given.get("WAKE_API_KEY", "")).strip()
    if not key:
        raise ValueError("A key is needed: in WAKE_API_KEY, or with --key.")
    key = keys.checked(key)
    if not command:
        raise ValueError("A command is needed, after --.")
    origin = addresses.origin(arguments.url)
    environment = _environment(given, arguments.env)
    argv = ["/bin/sh", "-c", " ".join(command)] if arguments.shell else command
    _find(argv[0], environment)
    journal = arguments.journal or _journal(given, origin, key)
    with ExitStack() as opened:
        try:
            kept = opened.enter_context(Journal(journal))
            run_log = arguments.run_log and opened.enter_context(arguments.run_log.open("ab"))
        except JournalInUse:
            logger.warning("another connector of this agent runs here (%s): end it first", journal)
            return JOURNAL
        except OSError as error:
            logger.warning("a file cannot be written: %s", error)
            return JOURNAL
        connector = Connector(
            Command(argv, environment, run_log),
            kept,
            capacity=1 if arguments.once else arguments.capacity,
            machine=socket.gethostname()[:80],
            once=arguments.once,
        )
        logger.info("%s waits for tasks from %s", shlex.join(command), origin)
        return asyncio.run(_until_it_ends(connector, origin, key))


async def _until_it_ends(connector: Connector, origin: str, key: str) -> int:
    work = asyncio.create_task(_connected(connector, origin, key))
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
            logger.info(
                "no new tasks; waiting for what runs (%s). Again, and it is stopped",
                connector.running,
            )

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
        loop.add_signal_handler(signal.SIGHUP, kill)
    try:
        await work
    except asyncio.CancelledError:
        if not killed:
            raise
        logger.info("stopped; what was running is stopped, too, and will be run again")
        return KILLED
    except KeyNotValid:
        logger.warning("%s", _of_a_refused(key))
        return NO_KEY
    except Replaced as reason:
        logger.warning("%s", reason)
        return REPLACED
    except (OtherProtocol, Refused) as reason:
        logger.warning("%s", reason)
        return NO_RELAY
    finally:
        await connector.end()
    if owed := len(connector.journal.unconfirmed()):
        logger.info(
            "stopped; results that did not get through are told at the next start: %s", owed
        )
    else:
        logger.info("stopped")
    return RUN_FAILED if connector.once and connector.has_failed else FINE


async def _connected(connector: Connector, origin: str, key: str) -> None:
    """Until it has finished, and then not for long: what it is connecting to may never answer."""
    work = asyncio.create_task(stay_connected(connector, origin, key))
    finished = asyncio.create_task(connector.finished.wait())
    try:
        await asyncio.wait({work, finished}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({work}, timeout=SECONDS_TO_LEAVE)
        if work.done():
            work.result()
    finally:
        for one in (work, finished):
            one.cancel()
        await asyncio.gather(work, finished, return_exceptions=True)


def _of_a_refused(key: str) -> str:
    match key.split("_")[:2]:
        case ["wk", "call"]:
            return "this is a caller's key: the agent's own is needed, wk_live_..."
        case ["wk", "test"]:
            return "with a test key nothing is run: a live one is needed, wk_live_..."
    return (
        "the key is not valid, or not any more: ask an owner of the team for a new one. "
        "Tasks wait until then."
    )


def _find(command: str, environment: Mapping[str, str]) -> None:
    """Raises ValueError, rather than to let every task fail."""
    if shutil.which(command, path=environment.get("PATH")):
        return
    if Path(command).is_file():
        raise ValueError(f"{command} cannot be executed: chmod +x, or name what runs it first.")
    raise ValueError(f"There is no command {command} on this machine: its whole path always works.")


def _environment(given: Mapping[str, str], more: list[str]) -> dict[str, str]:
    return {
        name: value
        for name, value in given.items()
        if name in ENVIRONMENT or name.startswith("LC_") or name in more
    }


def _journal(given: Mapping[str, str], origin: str, key: str) -> Path:
    """One for each agent and server: named by a digest, from which no key can be told."""
    state = given.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = hashlib.sha256(f"{origin}\n{key}".encode()).hexdigest()[:16]
    return Path(state) / "wake" / f"{name}.journal"


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else 0
    if not 1 <= number <= 100:
        raise argparse.ArgumentTypeError("from 1 to 100")
    return number
