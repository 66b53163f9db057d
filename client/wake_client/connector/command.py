"""Starts the agent's command for one run, and waits for its end."""

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
from pathlib import Path
from typing import IO, Any

from wake_client.connector import leftovers, progress, results
from wake_client.connector.frames import Run
from wake_client.connector.progress import Report

logger = logging.getLogger(__name__)

RESULT_FILE = "result.json"
MAX_OUTPUT = 10 * 1024 * 1024
# The time between SIGTERM and SIGKILL.
SECONDS_TO_STOP = 10.0
# The time for reading the output that is still in the pipe when the command has ended. A process
# that the command left behind may hold the other end of the pipe open forever.
SECONDS_TO_READ_REST = 2.0
# The variables that every command gets from this process. The command gets no other variables,
# because the environment of this process contains the agent's key.
ENVIRONMENT = {
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "TERM", "VIRTUAL_ENV"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "no_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
}


@dataclass(frozen=True)
class Command:
    """Starts the agent's command.

    `argv` is a list, never a shell line. `environment` is given to every run. `run_log` receives
    the command's stderr, which the caller never sees. Without `run_log`, the command writes to this
    process's stderr. `folder` contains the folders of the runs (leftovers.py).
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    run_log: IO[bytes] | None = None
    folder: Path | None = None

    async def start(self, run: Run, *, attempt: int, report: Callable[[Report], None]) -> Process:
        """Calls `report` with the progress that the command prints while it works. Raises OSError
        if there is no such command."""
        stdin = tempfile.TemporaryFile()  # noqa: SIM115 - the command need not read it
        folder = leftovers.new_folder(self.folder)
        result_file = Path(folder.name, RESULT_FILE)
        read_end, write_end = os.pipe()
        try:
            stdin.write(json.dumps(_stdin(run, attempt)).encode())
            stdin.seek(0)
            with leftovers.locked_file(folder.name) as lock:
                process = await asyncio.create_subprocess_exec(
                    *self.argv,
                    stdin=stdin,
                    stdout=write_end,
                    stderr=self.run_log,
                    env={
                        **self.environment,
                        **_variables(run, attempt),
                        "WAKEUP_RESULT": str(result_file),
                    },
                    pass_fds=(lock,),
                    # A process group of its own, which can be stopped whole.
                    start_new_session=True,
                )
                leftovers.write_pid(lock, process.pid)
        except BaseException:
            os.close(read_end)
            folder.cleanup()
            raise
        finally:
            stdin.close()
            os.close(write_end)
        return await Process.attach(process, read_end, run.timeout_seconds, report, folder)


class Process:
    """Controls the running command of one run."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        stdout: asyncio.StreamReader,
        pipe: asyncio.ReadTransport,
        timeout: float | None,
        report: Callable[[Report], None],
        folder: tempfile.TemporaryDirectory[str],
    ) -> None:
        self._process, self._stdout, self._pipe = process, stdout, pipe
        self._folder = folder
        self._timeout = timeout
        self._report = report
        self._output = bytearray()
        self._searched = 0  # bytes of the output that were searched for progress
        self._reported = 0  # bytes of progress, which were removed from the output

    @classmethod
    async def attach(
        cls,
        process: asyncio.subprocess.Process,
        descriptor: int,
        timeout: float | None,
        report: Callable[[Report], None],
        folder: tempfile.TemporaryDirectory[str],
    ) -> Process:
        """Reads the process's stdout from this descriptor, and the process's result file from this
        folder. The folder is deleted afterwards."""
        stdout = asyncio.StreamReader()
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stdout), os.fdopen(descriptor, "rb")
        )
        return cls(process, stdout, pipe, timeout, report, folder)

    async def outcome(self) -> results.Outcome:
        """Waits until the command has ended. Stops the command if it takes too long or prints too
        much."""
        reading = asyncio.create_task(self._read())
        ending = asyncio.create_task(self._process.wait())
        try:
            async with asyncio.timeout(self._timeout):
                await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
                if not self._is_too_long:
                    await ending
            await asyncio.wait({reading}, timeout=SECONDS_TO_READ_REST)
            result_file = self._read_result_file()
            if self._is_too_long or len(result_file) > MAX_OUTPUT:
                await self.stop()
                return results.failed("The agent's command wrote more than 10 MB.")
            return results.read(bytes(self._output), ending.result(), result_file)
        except TimeoutError:
            await self.stop()
            return results.failed(f"The agent's command took longer than {self._timeout:g} s.")
        finally:
            reading.cancel()
            ending.cancel()
            self._pipe.close()
            self._folder.cleanup()

    async def stop(self) -> None:
        """Asks the whole process group to end, and kills it after ten seconds."""
        self._signal(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), SECONDS_TO_STOP)
        self.kill()
        await self._process.wait()

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    async def wait(self) -> None:
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read(self) -> None:
        while not self._is_too_long and (chunk := await self._stdout.read(65_536)):
            self._output += chunk
            self._extract_progress()

    def _read_result_file(self) -> bytes:
        """Returns the content of the file, but at most one byte more than the limit."""
        try:
            with Path(self._folder.name, RESULT_FILE).open("rb") as file:
                return file.read(MAX_OUTPUT + 1)
        except OSError:
            return b""

    def _extract_progress(self) -> None:
        """Removes progress from the new, complete lines, and reports this progress."""
        end = self._output.rfind(b"\n", self._searched) + 1
        if end:
            rest = progress.extract(bytes(self._output[self._searched : end]), self._report)
            self._reported += end - self._searched - len(rest)
            self._output[self._searched : end] = rest
            self._searched += len(rest)

    @property
    def _is_too_long(self) -> bool:
        return len(self._output) + self._reported > MAX_OUTPUT


def _stdin(run: Run, attempt: int) -> dict[str, Any]:
    """Returns the object that the command reads on stdin. `decision` is beside the message, where
    no caller can forge it."""
    return {
        "taskId": run.task_id,
        "contextId": run.context_id,
        "messageId": run.message_id,
        "message": run.message,
        "messages": run.messages,
        "decision": run.decision,
        "caller": run.caller,
        "acceptedOutputModes": run.accepted_output_modes,
        "referenceTaskIds": run.reference_task_ids,
        "metadata": run.metadata,
        "attempt": attempt,
    }


def _variables(run: Run, attempt: int) -> dict[str, str]:
    """Returns the variables for the command. The variables contain only the status of a decision.
    The text of the decision is on stdin, because the text may be long."""
    return {
        "WAKEUP_TASK_ID": run.task_id,
        "WAKEUP_CONTEXT_ID": run.context_id,
        "WAKEUP_DISPATCH_ID": run.run_id,
        "WAKEUP_ATTEMPT": str(attempt),
        "WAKEUP_CALLER": str((run.caller or {}).get("name") or ""),
        "WAKEUP_DECISION": str((run.decision or {}).get("status") or ""),
        # OpenTelemetry's name for it, in "Environment Variables as Context Propagation Carriers".
        **({"TRACEPARENT": run.traceparent} if run.traceparent else {}),
    }
