"""Lets runs of the OpenAI Agents SDK wait for people (docs/adapters/openai-agents.md)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    Runner,
    RunResult,
    RunResultStreaming,
    RunState,
    ToolApprovalItem,
    default_tool_error_function,
    function_tool,
)
from agents.tool import ToolErrorFunction
from agents.tool_context import ToolContext

from wake_client.adapters import AnsweredRun, AsyncApprovals, NotRun, ToolCall
from wake_client.adapters.calls import is_json

FRAMEWORK = "OpenAI Agents"
NOT_GUARDED = "People cannot approve {tool}, because it is not made by approved_tool()."
# The name under which people see arguments that are not a JSON object.
UNREAD = "the text that the model wrote"
Ended = Callable[[str, RunResult], Awaitable[object]]
# A tool reads here which run it belongs to. In a run that no person has answered, it is empty.
_thread = ContextVar("wake_thread", default="")


class RunApprovals:
    """Asks people about the calls for which a run of an agent is paused, and resumes the run with
    their answers. Make the tools of the agent with approved_tool(). Use a file of approvals for one
    agent only. Other arguments, such as `context` or `session`, are passed to each `Runner.run`.
    """

    def __init__(self, agent: Agent[Any], approvals: AsyncApprovals, **run: Any) -> None:
        self.agent, self.approvals, self.run = agent, approvals, run

    async def ask_about(self, thread: str, result: RunResult | RunResultStreaming) -> bool:
        """Asks people about the calls for which a run is paused, and stores the run. `thread` is an
        id that you choose. Returns False if the run is not paused. Raises ValueError for a tool
        that approved_tool() did not make. Raises WakeError if the server is away. Then the next
        resume_answered() asks."""
        if not result.interruptions:
            return False
        calls = _calls(thread, result.interruptions)
        self.approvals.save(FRAMEWORK, thread, result.to_state().to_string())
        for call in calls:
            await self.approvals.ask_about(call)
        return True

    async def resume_answered(self, on_end: Ended | None = None) -> dict[str, RunResult]:
        """Resumes each run whose calls are all answered. Returns the results by thread. If a run
        has ended, calls `on_end` with its thread and result: a process that dies before `on_end`
        returns resumes the run again. Raises WakeError, or an ExceptionGroup of the errors of
        single runs."""
        results: dict[str, RunResult] = {}

        async def resume(run: AnsweredRun) -> None:
            result = await self._resumed(run)
            if result is None:
                return
            results[run.thread] = result
            if not await self.ask_about(run.thread, result) and on_end is not None:
                await on_end(run.thread, result)

        for thread, saved in self.approvals.unasked(FRAMEWORK).items():
            state = await RunState.from_string(self.agent, saved)
            await self.approvals.verdicts(_calls(thread, state.get_interruptions()))
        await self.approvals.resume_answered(FRAMEWORK, resume)
        return results

    async def _resumed(self, run: AnsweredRun) -> RunResult | None:
        """Returns the result of a run, or None if one of its calls has no answer."""
        state = await RunState.from_string(self.agent, run.state or "")
        items = state.get_interruptions()
        calls = _calls(run.thread, items)
        verdicts = await self.approvals.verdicts(calls)
        if verdicts is None:
            return None
        for item, call in zip(items, calls, strict=True):
            verdict = verdicts[call.call_id].without_edit
            if verdict.decision == "allow":
                state.approve(item)
            else:
                state.reject(item, rejection_message=verdict.words)
        with _resuming(run.thread):
            return await Runner.run(self.agent, state, **self.run)


def approved_tool(
    approvals: AsyncApprovals,
    *,
    failure_error_function: ToolErrorFunction | None = default_tool_error_function,
    **options: Any,
) -> Callable[[Callable[..., Any]], FunctionTool]:
    """Makes a tool of a function, like `function_tool` with the same options. Each call of the tool
    needs a person's approval, and runs once."""

    def decorate(function: Callable[..., Any]) -> FunctionTool:
        tool = function_tool(function, needs_approval=True, failure_error_function=None, **options)
        tool.on_invoke_tool = _Once(approvals, tool.on_invoke_tool, failure_error_function)
        return tool

    return decorate


@dataclass(frozen=True, slots=True)
class _Once:
    """Uses the approval of a call before it invokes the tool."""

    approvals: AsyncApprovals
    invoke: Callable[[ToolContext[Any], str], Awaitable[Any]]
    failure_words: ToolErrorFunction | None

    async def __call__(self, context: ToolContext[Any], text: str) -> Any:
        call = _call(_thread.get(), context.tool_call_id, context.qualified_tool_name, text)
        failures = list[Exception]()

        async def invoke() -> Any:
            try:
                return await self.invoke(context, _text_of(call))
            except Exception as failure:
                failures.append(failure)
                raise

        try:
            return await self.approvals.run(call, invoke)
        except NotRun as reason:
            return str(reason)
        except Exception as error:
            if error not in failures or self.failure_words is None:
                raise
            words = self.failure_words(context, error)
            return await words if isawaitable(words) else words


@contextmanager
def _resuming(thread: str) -> Iterator[None]:
    token = _thread.set(thread)
    try:
        yield
    finally:
        _thread.reset(token)


def _calls(thread: str, items: list[ToolApprovalItem]) -> list[ToolCall]:
    """Returns the calls for which a run is paused. Raises ValueError for a call that would run
    without its approval being used up."""
    for item in items:
        if not any(_is_guarded(tool, item) for tool in item.agent.tools):
            raise ValueError(NOT_GUARDED.format(tool=item.qualified_name))
    return [
        _call(thread, item.call_id or "", item.qualified_name or "", item.arguments or "")
        for item in items
    ]


def _is_guarded(tool: Any, item: ToolApprovalItem) -> bool:
    is_same = isinstance(tool, FunctionTool) and tool.qualified_name == item.qualified_name
    return is_same and isinstance(tool.on_invoke_tool, _Once)


def _call(thread: str, call_id: str, tool: str, text: str) -> ToolCall:
    """Returns a call with the arguments that the model wrote as a text. People read the text itself
    if it is not JSON."""
    try:
        arguments = json.loads(text or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict) or not is_json(arguments):
        arguments = {UNREAD: text}
    return ToolCall(FRAMEWORK, thread, call_id, tool, arguments)


def _text_of(call: ToolCall) -> str:
    """Returns the arguments for the tool. Another parser would perhaps read the model's own text in
    another way than people did, for example if it has a name twice."""
    text = call.arguments.get(UNREAD)
    return text if isinstance(text, str) else json.dumps(call.arguments)
