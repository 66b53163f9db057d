"""Lets interrupts of LangGraph, and paused calls of LangChain agents, wait for people
(docs/adapters/langgraph.md)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.errors import is_invalid_resume
from langgraph.types import Command, Interrupt, StateSnapshot, interrupt

from wake_client.adapters import AnsweredRun, Approvals, AsyncApprovals, NotRun, ToolCall, Verdict

FRAMEWORK = "LangGraph"
# The value of an interrupt that call_approved() makes.
CALL = "wake_call"
Result = TypeVar("Result")


class ToolFailed(Exception):
    """The agent turned the error of a tool into a message for the model."""

    def __init__(self, message: Any) -> None:
        super().__init__(str(message.content))
        self.message = message


class GraphApprovals:
    """Asks people about the interrupts of a graph, and resumes its threads with their answers.

    `graph` is a compiled graph with a checkpointer, or the agent of `create_agent`. Use a file of
    approvals for one graph only. Other arguments, such as `context`, are passed to each `invoke`.
    """

    def __init__(self, graph: Any, approvals: Approvals, **invoke: Any) -> None:
        self.graph, self.approvals, self.invoke = graph, approvals, invoke

    def ask_about(self, thread: str) -> None:
        """Asks people about each call for which the thread is paused. Raises WakeError."""
        for call in _calls(thread, self.graph.get_state(_config(thread))):
            self.approvals.ask_about(call)

    def resume_answered(self) -> list[str]:
        """Resumes each thread whose calls are all answered, and returns their ids. Raises
        WakeError, or an ExceptionGroup of the errors of single threads."""
        runs = self.approvals.resume_answered(FRAMEWORK, self._resume)
        return [run.thread for run in runs]

    def _resume(self, run: AnsweredRun) -> None:
        config = _config(run.thread)
        state = self.graph.get_state(config)
        verdicts = self.approvals.verdicts(_calls(run.thread, state))
        if verdicts is None:
            return
        try:
            self._invoke(_command(run.thread, state, verdicts), state, config)
        except Exception as failure:
            if not is_invalid_resume(failure):
                raise
            state = self.graph.get_state(config)
            self._invoke(_command(run.thread, state, _without_edits(verdicts)), state, config)
        self.ask_about(run.thread)

    def _invoke(self, command: Command[Any] | None, state: StateSnapshot, config: Any) -> None:
        if state.next:  # else the run had ended before its process died
            self.graph.invoke(command, config, **self.invoke)


class AsyncGraphApprovals:
    """Works like GraphApprovals, with `ainvoke`."""

    def __init__(self, graph: Any, approvals: AsyncApprovals, **invoke: Any) -> None:
        self.graph, self.approvals, self.invoke = graph, approvals, invoke

    async def ask_about(self, thread: str) -> None:
        """Works like GraphApprovals.ask_about."""
        for call in _calls(thread, await self.graph.aget_state(_config(thread))):
            await self.approvals.ask_about(call)

    async def resume_answered(self) -> list[str]:
        """Works like GraphApprovals.resume_answered."""
        runs = await self.approvals.resume_answered(FRAMEWORK, self._resume)
        return [run.thread for run in runs]

    async def _resume(self, run: AnsweredRun) -> None:
        config = _config(run.thread)
        state = await self.graph.aget_state(config)
        verdicts = await self.approvals.verdicts(_calls(run.thread, state))
        if verdicts is None:
            return
        try:
            await self._invoke(_command(run.thread, state, verdicts), state, config)
        except Exception as failure:
            if not is_invalid_resume(failure):
                raise
            state = await self.graph.aget_state(config)
            verdicts = _without_edits(verdicts)
            await self._invoke(_command(run.thread, state, verdicts), state, config)
        await self.ask_about(run.thread)

    async def _invoke(
        self, command: Command[Any] | None, state: StateSnapshot, config: Any
    ) -> None:
        if state.next:
            await self.graph.ainvoke(command, config, **self.invoke)


class ApprovedCalls(AgentMiddleware[Any, Any]):
    """Runs each call of these tools once, and only with an approval. Put it after
    HumanInTheLoopMiddleware in the list of middleware, so that it sees a person's edit."""

    def __init__(self, approvals: Approvals, tools: Iterable[str]) -> None:
        super().__init__()
        self.approvals, self.guarded = approvals, frozenset(tools)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        if request.tool_call["name"] not in self.guarded:
            return handler(request)
        try:
            return self.approvals.run(_call_of(request), lambda: _checked(handler(request)))
        except NotRun as reason:
            return _denied(request, reason)
        except ToolFailed as failure:
            return failure.message


class AsyncApprovedCalls(AgentMiddleware[Any, Any]):
    """Works like ApprovedCalls, with `ainvoke`."""

    def __init__(self, approvals: AsyncApprovals, tools: Iterable[str]) -> None:
        super().__init__()
        self.approvals, self.guarded = approvals, frozenset(tools)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        if request.tool_call["name"] not in self.guarded:
            return await handler(request)
        try:
            return await self.approvals.run(_call_of(request), lambda: _awaited(handler(request)))
        except NotRun as reason:
            return _denied(request, reason)
        except ToolFailed as failure:
            return failure.message


def call_approved(
    approvals: Approvals, tool: str, arguments: dict[str, Any], run: Callable[..., Result]
) -> Result:
    """Pauses the node of a graph until people have answered. Then runs `run(**arguments)` once,
    with the arguments of a person's edit if there is one. Raises NotRun if the call was denied, and
    WakeError."""
    call = _answered_call(tool, arguments, run)
    return approvals.run(call, lambda: run(**call.arguments))


async def acall_approved(
    approvals: AsyncApprovals,
    tool: str,
    arguments: dict[str, Any],
    run: Callable[..., Awaitable[Result]],
) -> Result:
    """Works like call_approved, for nodes that await."""
    call = _answered_call(tool, arguments, run)
    return await approvals.run(call, lambda: run(**call.arguments))


def _answered_call(tool: str, arguments: dict[str, Any], run: Callable[..., Any]) -> ToolCall:
    answer = interrupt({"type": CALL, "tool": tool, "arguments": arguments})
    verdict = Verdict(answer["decision"], answer["words"], answer["arguments"])
    if verdict.arguments is not None and not _accepts(run, verdict.arguments):
        verdict = verdict.without_edit
    if verdict.decision == "deny":
        raise NotRun(verdict.words)
    thread = str(get_config().get("configurable", {})["thread_id"])
    return ToolCall(FRAMEWORK, thread, answer["id"], tool, verdict.arguments or arguments)


def _accepts(run: Callable[..., Any], arguments: dict[str, Any]) -> bool:
    try:
        inspect.signature(run).bind(**arguments)
    except TypeError:
        return False
    return True


def _config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def _calls(thread: str, state: StateSnapshot) -> list[ToolCall]:
    """Returns the calls for which a thread is paused."""
    return [call for pause in state.interrupts for call in _calls_of(thread, pause, state)]


def _calls_of(thread: str, pause: Interrupt[Any], state: StateSnapshot) -> list[ToolCall]:
    match pause.value:
        case {"type": "tool_approval", "tool_call_id": id, "name": name, "args": args}:
            return [ToolCall(FRAMEWORK, thread, id, name, args)]
        case {"action_requests": [*requests]}:
            return _batch(thread, requests, state)
        case {"type": str(kind), "tool": str(tool), "arguments": dict(arguments)} if kind == CALL:
            return [ToolCall(FRAMEWORK, thread, pause.id, tool, arguments)]
        case dict(value):
            return [ToolCall(FRAMEWORK, thread, pause.id, "interrupt", value)]
    return [ToolCall(FRAMEWORK, thread, pause.id, "interrupt", {"value": pause.value})]


def _batch(thread: str, requests: list[Any], state: StateSnapshot) -> list[ToolCall]:
    """Finds the calls of a batch in the last message of the model, because the batch has no ids."""
    messages = [message for message in state.values["messages"] if message.type == "ai"]
    made, calls = iter(messages[-1].tool_calls), []
    for request in requests:
        found = next(
            each
            for each in made
            if (each["name"], each["args"]) == (request["name"], request["args"])
        )
        calls.append(ToolCall(FRAMEWORK, thread, found["id"], found["name"], found["args"]))
    return calls


def _command(
    thread: str, state: StateSnapshot, verdicts: dict[str, Verdict]
) -> Command[Any] | None:
    """Returns the answers to all interrupts, or None if the process died after they were read."""
    answers = {}
    for pause in state.interrupts:
        calls = _calls_of(thread, pause, state)
        match pause.value:
            case {"type": "tool_approval"}:
                allowed = _decisions_in(pause.response_schema)
                answers[pause.id] = _decision(calls[0], verdicts, allowed)
            case {"action_requests": [*_], "review_configs": [*configs]}:
                answers[pause.id] = {
                    "decisions": [
                        _decision(call, verdicts, set(config["allowed_decisions"]))
                        for call, config in zip(calls, configs, strict=True)
                    ]
                }
            case _:
                verdict = verdicts[pause.id]
                answers[pause.id] = {
                    "id": pause.id,
                    "decision": verdict.decision,
                    "words": verdict.words,
                    "arguments": verdict.arguments,
                }
    return Command(resume=answers) if answers else None


def _decision(call: ToolCall, verdicts: dict[str, Verdict], allowed: set[str]) -> dict[str, Any]:
    """Returns the decision in the form of HumanInTheLoopMiddleware."""
    verdict = verdicts[call.call_id]
    if "approve" not in allowed and "respond" in allowed:  # the person answers for the tool
        return {"type": "respond", "message": verdict.words or "Approved."}
    if verdict.decision == "edit" and "edit" in allowed:
        return {"type": "edit", "edited_action": {"name": call.tool, "args": verdict.arguments}}
    if verdict.decision == "allow":
        return {"type": "approve"}
    return {"type": "reject", "message": verdict.without_edit.words}


def _decisions_in(schema: Any) -> set[str]:
    """Returns the decisions that the JSON Schema of an interrupt allows."""
    match schema:
        case {"properties": {"type": {"const": str(kind)}}}:
            return {kind}
        case dict():
            return set().union(*map(_decisions_in, schema.values()))
    return set()


def _without_edits(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """Returns the verdicts for tools that do not accept a person's edit."""
    return {id: verdict.without_edit for id, verdict in verdicts.items()}


def _call_of(request: Any) -> ToolCall:
    call = request.tool_call
    thread = str(request.runtime.config["configurable"]["thread_id"])
    return ToolCall(FRAMEWORK, thread, str(call["id"]), call["name"], call["args"])


def _checked(message: Any) -> Any:
    """Returns the message of a tool. Raises ToolFailed for an error, so that people read of it."""
    if getattr(message, "status", None) == "error":
        raise ToolFailed(message)
    return message


async def _awaited(message: Awaitable[Any]) -> Any:
    return _checked(await message)


def _denied(request: Any, reason: NotRun) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(str(reason), name=call["name"], tool_call_id=call["id"], status="error")
