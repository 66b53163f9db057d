"""Starts the agent's command for one dispatch, and sees it to its end."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from wake_client.connector import progress, results
from wake_client.connector.frames import Dispatch

logger = logging.getLogger(__name__)

MOST_OUTPUT = 10 * 1024 * 1024
# Between asking the command to stop and stopping it.
SECONDS_TO_STOP = 10.0
# For what is still in the pipe when the command is over: something that it left behind may hold the
# other end open for ever.
SECONDS_FOR_THE_REST = 2.0
# The agent's own surroundings, and nothing that this process knows beyond them: its key is in
# the environment, too.
ENVIRONMENT = {
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "TERM", "VIRTUAL_ENV"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "no_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
}


@dataclass(frozen=True)
class Command:
    """`argv` is a list, never a line for a shell; `environment` what every run is given;
    `run_log` takes its stderr, which the caller never sees (None: this process's own)."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    run_log: IO[bytes] | None = None

    async def start(self, dispatch: Dispatch, *, attempt: int, say: Callable[[str], None]) -> Child:
        """`say` is called with what it says while it works. Raises OSError where there is no such
        command."""
        stdin = tempfile.TemporaryFile()  # noqa: SIM115 - a file: a command need not read it
        reading, writing = os.pipe()
        try:
            stdin.write(json.dumps(_given(dispatch, attempt)).encode())
            stdin.seek(0)
            process = await asyncio.create_subprocess_exec(
                *self.argv,
                stdin=stdin,
                stdout=writing,
                stderr=self.run_log,
                env={**self.environment, **_told(dispatch, attempt)},
                start_new_session=True,  # a group of its own, so that all of it can be stopped
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            stdin.close()
            os.close(writing)
        return await Child.of(process, reading, dispatch.timeout_s, say)


class Child:
    """A command that runs."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        stdout: asyncio.StreamReader,
        pipe: asyncio.ReadTransport,
        timeout: float | None,
        say: Callable[[str], None],
    ) -> None:
        self._process, self._stdout, self._pipe = process, stdout, pipe
        self._timeout = timeout
        self._say = say
        self._output = bytearray()
        self._heard = 0

    @classmethod
    async def of(
        cls,
        process: asyncio.subprocess.Process,
        descriptor: int,
        timeout: float | None,
        say: Callable[[str], None],
    ) -> Child:
        """`descriptor`: the end of its stdout to read from."""
        stdout = asyncio.StreamReader()
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stdout), os.fdopen(descriptor, "rb")
        )
        return cls(process, stdout, pipe, timeout, say)

    async def outcome(self) -> results.Outcome:
        """When it is over; it is stopped where it takes too long or says too much."""
        reading = asyncio.create_task(self._read())
        ending = asyncio.create_task(self._process.wait())
        try:
            async with asyncio.timeout(self._timeout):
                await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
                if not self._is_too_much:
                    await ending
            await asyncio.wait({reading}, timeout=SECONDS_FOR_THE_REST)
            if self._is_too_much:
                await self.stop()
                return results.failed("The agent's command wrote more than 10 MB.")
            return results.read(bytes(self._output), ending.result())
        except TimeoutError:
            await self.stop()
            return results.failed(f"The agent's command took longer than {self._timeout:g} s.")
        finally:
            reading.cancel()
            ending.cancel()
            self._pipe.close()

    async def stop(self) -> None:
        """Asks the whole group to end, and ends it after ten seconds."""
        self._signal(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), SECONDS_TO_STOP)
        self.kill()
        await self._process.wait()

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    async def gone(self) -> None:
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read(self) -> None:
        while not self._is_too_much and (chunk := await self._stdout.read(65_536)):
            self._output += chunk
            self._hear()

    def _hear(self) -> None:
        """Takes out of what came since, as far as its lines are whole, what is no answer."""
        end = self._output.rfind(b"\n", self._heard) + 1
        if end:
            answer = progress.without(bytes(self._output[self._heard : end]), self._say)
            self._output[self._heard : end] = answer
            self._heard += len(answer)

    @property
    def _is_too_much(self) -> bool:
        return len(self._output) > MOST_OUTPUT


def _given(dispatch: Dispatch, attempt: int) -> dict[str, Any]:
    """What the command reads on stdin. `decision` is beside the message, where no caller can forge
    it."""
    return {
        "taskId": dispatch.task_id,
        "contextId": dispatch.context_id,
        "messageId": dispatch.message_id,
        "message": dispatch.message,
        "messages": dispatch.messages,
        "decision": dispatch.decision,
        "attempt": attempt,
    }


def _told(dispatch: Dispatch, attempt: int) -> dict[str, str]:
    """What the command finds in its environment. The decision is its status alone: the words are on
    stdin, where they may be long."""
    return {
        "WAKEUP_TASK_ID": dispatch.task_id,
        "WAKEUP_CONTEXT_ID": dispatch.context_id,
        "WAKEUP_DISPATCH_ID": dispatch.dispatch_id,
        "WAKEUP_ATTEMPT": str(attempt),
        "WAKEUP_DECISION": str((dispatch.decision or {}).get("status") or ""),
    }
