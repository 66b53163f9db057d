"""Runs the flows of an adapter. Approvals blocks; AsyncApprovals awaits."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from wake_client.adapters.calls import ToolCall
from wake_client.adapters.flows import CallFlows
from wake_client.adapters.questions import AskOptions
from wake_client.adapters.store import AnsweredRun, Store
from wake_client.adapters.verdicts import Verdict
from wake_client.async_client import AsyncWakeClient
from wake_client.client import WakeClient
from wake_client.files import try_locked

Result = TypeVar("Result")
NOT_RESUMED = "Some runs could not be resumed. The next sweep tries them again."


class _Resuming:
    """Records which runs went on."""

    def __init__(self, path: str | os.PathLike[str], agent_id: str) -> None:
        self.store = Store(path, agent_id)

    def save(self, framework: str, thread: str, state: str) -> None:
        """Stores a paused run as a text, for a framework that has no store of its own. Call it
        before ask_about(). AnsweredRun.state has the text."""
        self.store.save(framework, thread, state)

    def saved(self, framework: str, thread: str) -> str | None:
        """Returns what save() stored, or None if the run is not paused."""
        return self.store.saved(framework, thread)

    def unasked(self, framework: str) -> dict[str, str]:
        """Returns the saved states, by thread, of runs with a call that people were not asked
        about, because the process died or the server was away. Call ask_about() for them."""
        return self.store.unasked(framework)

    def resumed(self, run: AnsweredRun) -> None:
        """Records that a run went on, so that answered() does not return it again."""
        self.store.resumed(run)

    def went_on(self, call: ToolCall) -> None:
        """Records that a run went on after a call in the process that had waited for its verdict,
        so that answered() does not return the run."""
        self.store.went_on(call)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Yields whether no other process resumes runs at this moment."""
        path = self.store.path
        with try_locked(path.with_name(f"{path.name}.resuming")) as is_alone:
            yield is_alone

    @contextmanager
    def _recorded(self, run: AnsweredRun, failures: list[Exception]) -> Iterator[None]:
        try:
            yield
        except Exception as failure:
            failures.append(failure)
        else:
            self.resumed(run)


class Approvals(_Resuming):
    """Asks people about calls of tools, and makes each approved call once.

    `path` is a file that only this user can read. Several processes of one agent may use it at the
    same time. Raises ValueError for the file of another agent.
    `options` says how people are asked, and `tools` how for single tools, by their names.
    """

    def __init__(
        self,
        client: WakeClient,
        path: str | os.PathLike[str],
        *,
        options: AskOptions | None = None,
        tools: Mapping[str, AskOptions] | None = None,
    ) -> None:
        super().__init__(path, client.flows.agent_id)
        self.client = client
        self._calls = CallFlows(client.flows, self.store, options or AskOptions(), tools or {})

    def ask_about(self, call: ToolCall) -> None:
        """Asks people about a call, unless they were asked before. Asks again if the question was
        withdrawn. A call that no person could read whole is denied. Raises WakeError."""
        self.client.run(self._calls.ask_about(call))

    def verdict(self, call: ToolCall) -> Verdict | None:
        """Returns the verdict, or None if people may still answer. Raises WakeError."""
        return self.client.run(self._calls.verdict(call, timeout=0))

    def wait(self, call: ToolCall, *, timeout: float | None = None) -> Verdict | None:
        """Waits for the verdict, or for `timeout` seconds. Raises WakeError."""
        return self.client.run(self._calls.verdict(call, timeout=timeout))

    def verdicts(self, calls: Sequence[ToolCall]) -> dict[str, Verdict] | None:
        """Returns the stored verdicts of calls by their `call_id`, or None if one is missing. Asks
        about calls that people were not asked about, because a process died first. Raises
        WakeError."""
        return self.client.run(self._calls.verdicts(calls))

    def answered(self, framework: str | None = None) -> list[AnsweredRun]:
        """Reads all new answers. Returns the runs whose calls are all answered, until resumed() is
        called for them. Raises WakeError."""
        return self.client.run(self._calls.answered(framework))

    def resume_answered(
        self, framework: str, resume: Callable[[AnsweredRun], object]
    ) -> list[AnsweredRun]:
        """Calls `resume` for each answered run, and returns these runs. A process that dies while
        it resumes a run leaves the run to the next sweep. If another process resumes runs at this
        moment, returns an empty list. Raises WakeError, or an ExceptionGroup of everything that
        `resume` raised, after the other runs."""
        failures: list[Exception] = []
        with self._alone() as is_alone:
            runs = self.answered(framework) if is_alone else []
            for run in runs:
                with self._recorded(run, failures):
                    resume(run)
        if failures:
            raise ExceptionGroup(NOT_RESUMED, failures)
        return runs

    def run(self, call: ToolCall, tool: Callable[[], Result]) -> Result:
        """Uses the approval of a call, and runs the tool: once for each approval. The arguments
        must be those that a person approved, or those of a person's edit. Reports to people how the
        tool ended. Raises NotRun if the tool must not run, WakeError if the server is away before
        the tool begins, and the error of a tool that fails."""
        row = self.client.run(self._calls.use(call))
        try:
            result = tool()
        except Exception as failure:
            self.client.run(self._calls.ended(row, failure))
            raise
        self.client.run(self._calls.ended(row))
        return result

    def begin(self, call: ToolCall) -> None:
        """Uses the approval of a call, for a tool that the framework runs by itself. The tool must
        not run unless this returns. Raises what run() raises before its tool begins."""
        self.client.run(self._calls.use(call))

    def end(self, call: ToolCall, failure: Exception | None = None) -> None:
        """Reports to people how a call ended that begin() has begun. Does nothing for other
        calls."""
        self.client.run(self._calls.end(call, failure))


class AsyncApprovals(_Resuming):
    """Works like Approvals, for asyncio. The file is small, so it is read and written in the event
    loop's own thread."""

    def __init__(
        self,
        client: AsyncWakeClient,
        path: str | os.PathLike[str],
        *,
        options: AskOptions | None = None,
        tools: Mapping[str, AskOptions] | None = None,
    ) -> None:
        super().__init__(path, client.flows.agent_id)
        self.client = client
        self._calls = CallFlows(client.flows, self.store, options or AskOptions(), tools or {})

    async def ask_about(self, call: ToolCall) -> None:
        """Works like Approvals.ask_about."""
        await self.client.run(self._calls.ask_about(call))

    async def verdict(self, call: ToolCall) -> Verdict | None:
        """Works like Approvals.verdict."""
        return await self.client.run(self._calls.verdict(call, timeout=0))

    async def wait(self, call: ToolCall, *, timeout: float | None = None) -> Verdict | None:
        """Works like Approvals.wait."""
        return await self.client.run(self._calls.verdict(call, timeout=timeout))

    async def verdicts(self, calls: Sequence[ToolCall]) -> dict[str, Verdict] | None:
        """Works like Approvals.verdicts."""
        return await self.client.run(self._calls.verdicts(calls))

    async def answered(self, framework: str | None = None) -> list[AnsweredRun]:
        """Works like Approvals.answered."""
        return await self.client.run(self._calls.answered(framework))

    async def resume_answered(
        self, framework: str, resume: Callable[[AnsweredRun], Awaitable[object]]
    ) -> list[AnsweredRun]:
        """Works like Approvals.resume_answered."""
        failures: list[Exception] = []
        with self._alone() as is_alone:
            runs = await self.answered(framework) if is_alone else []
            for run in runs:
                with self._recorded(run, failures):
                    await resume(run)
        if failures:
            raise ExceptionGroup(NOT_RESUMED, failures)
        return runs

    async def run(self, call: ToolCall, tool: Callable[[], Awaitable[Result]]) -> Result:
        """Works like Approvals.run."""
        row = await self.client.run(self._calls.use(call))
        try:
            result = await tool()
        except Exception as failure:
            await self.client.run(self._calls.ended(row, failure))
            raise
        await self.client.run(self._calls.ended(row))
        return result

    async def begin(self, call: ToolCall) -> None:
        """Works like Approvals.begin."""
        await self.client.run(self._calls.use(call))

    async def end(self, call: ToolCall, failure: Exception | None = None) -> None:
        """Works like Approvals.end."""
        await self.client.run(self._calls.end(call, failure))
