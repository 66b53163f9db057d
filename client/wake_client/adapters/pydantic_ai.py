"""Lets the deferred tool calls of Pydantic AI wait for people (docs/adapters/pydantic-ai.md)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import (
    AgentRunResult,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
    ToolFailed,
)
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ToolCallPart

from wake_client.adapters import AnsweredRun, AsyncApprovals, NotRun, ToolCall, Verdict

FRAMEWORK = "Pydantic AI"
# The key in the metadata of a call that names the run, for the tool.
THREAD = "wake_thread"
NOT_OURS = "This call was not approved in Wake, so it was not made."
Ended = Callable[[str, AgentRunResult[Any]], Awaitable[object]]
_requests = TypeAdapter(DeferredToolRequests)


class AgentApprovals:
    """Asks people about the calls that an agent defers, and resumes its runs with their answers.

    The `output_type` of `agent` includes DeferredToolRequests, and its `capabilities` include
    ApprovedToolCalls. Use a file of approvals for one agent only. Other arguments, such as `deps`,
    are passed to each `run`.
    """

    def __init__(self, agent: Any, approvals: AsyncApprovals, **run: Any) -> None:
        self.agent, self.approvals, self.run = agent, approvals, run

    async def ask_about(self, thread: str, result: AgentRunResult[Any]) -> bool:
        """Asks people about the calls for which a run is paused, and stores the run. `thread` is an
        id that you choose. Returns False if the run is not paused. Raises WakeError if the server
        is away. Then the next resume_answered() asks."""
        if not isinstance(result.output, DeferredToolRequests):
            return False
        if result.output.calls:
            raise ValueError("Calls that run outside of the agent cannot be asked about.")
        self.approvals.save(FRAMEWORK, thread, _state(result, result.output))
        for call in _calls(thread, result.output):
            await self.approvals.ask_about(call)
        return True

    async def resume_answered(self, on_end: Ended | None = None) -> dict[str, AgentRunResult[Any]]:
        """Resumes each run whose calls are all answered. Returns the results by thread. If a run
        has ended, calls `on_end` with its thread and result: a process that dies before `on_end`
        returns resumes the run again. Raises WakeError, or an ExceptionGroup of the errors of
        single runs."""
        results: dict[str, AgentRunResult[Any]] = {}

        async def resume(run: AnsweredRun) -> None:
            result = await self._resumed(run)
            if result is None:
                return
            results[run.thread] = result
            if not await self.ask_about(run.thread, result) and on_end is not None:
                await on_end(run.thread, result)

        for thread, state in self.approvals.unasked(FRAMEWORK).items():
            await self.approvals.verdicts(_calls(thread, _read(state)[1]))
        await self.approvals.resume_answered(FRAMEWORK, resume)
        return results

    async def _resumed(self, run: AnsweredRun) -> AgentRunResult[Any] | None:
        """Returns the result of a run, or None if one of its calls has no answer."""
        messages, requests = _read(run.state or "")
        verdicts = await self.approvals.verdicts(_calls(run.thread, requests))
        if verdicts is None:
            return None
        result: AgentRunResult[Any] = await self.agent.run(
            message_history=messages,
            deferred_tool_results=_results(run.thread, requests, verdicts),
            **self.run,
        )
        return result


@dataclass
class ApprovedToolCalls(AbstractCapability[Any]):
    """Runs each approved call once, and denies a call that was approved elsewhere."""

    approvals: AsyncApprovals

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        if not ctx.tool_call_approved:  # it needs no approval, or its tool defers it
            return await handler(args)
        thread = (ctx.tool_call_metadata or {}).get(THREAD)
        if not isinstance(thread, str):
            raise ToolFailed(NOT_OURS)
        try:
            return await self.approvals.run(_call(thread, call), lambda: handler(args))
        except NotRun as reason:
            raise ToolFailed(str(reason)) from reason


def _state(result: AgentRunResult[Any], requests: DeferredToolRequests) -> str:
    """Returns a paused run as JSON. The messages do not say which calls need an approval, so the
    requests are stored beside them."""
    messages = json.loads(result.all_messages_json())
    return json.dumps(
        {"messages": messages, "requests": _requests.dump_python(requests, mode="json")}
    )


def _read(state: str) -> tuple[list[ModelMessage], DeferredToolRequests]:
    stored = json.loads(state)
    messages = ModelMessagesTypeAdapter.validate_python(stored["messages"])
    return messages, _requests.validate_python(stored["requests"])


def _calls(thread: str, requests: DeferredToolRequests) -> list[ToolCall]:
    return [_call(thread, call) for call in requests.approvals]


def _call(thread: str, call: ToolCallPart) -> ToolCall:
    return ToolCall(FRAMEWORK, thread, call.tool_call_id, call.tool_name, call.args_as_dict())


def _results(
    thread: str, requests: DeferredToolRequests, verdicts: dict[str, Verdict]
) -> DeferredToolResults:
    return requests.build_results(
        approvals={id: _decision(verdict) for id, verdict in verdicts.items()},
        metadata={id: {**requests.metadata.get(id, {}), THREAD: thread} for id in verdicts},
    )


def _decision(verdict: Verdict) -> ToolApproved | ToolDenied:
    if verdict.decision == "deny":
        return ToolDenied(verdict.words)
    return ToolApproved(override_args=verdict.arguments)
