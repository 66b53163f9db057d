"""Lets sessions of the Claude Agent SDK wait for people (docs/adapters/claude-agent.md)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from claude_agent_sdk import (
    CanUseTool,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    Message,
    PermissionResult,
    PermissionResultDeny,
    ResultMessage,
    ToolPermissionContext,
)

from wake_client.adapters import AnsweredRun, AsyncApprovals, NotRun, ToolCall, Verdict

FRAMEWORK = "Claude Agent SDK"
# Time for the hook's own requests. If it takes longer, Claude Code blocks the call.
HOOK_SECONDS = 600.0
# In these modes, Claude Code runs a call that it does not defer.
UNSAFE_MODES = {"acceptEdits", "auto", "bypassPermissions"}
UNSAFE_FLAGS = {"allowedTools", "allowed-tools", "permission-mode", "dangerously-skip-permissions"}
ONE_AT_A_TIME = (
    "People can be asked about one call at a time, and another call already waits for them. This "
    "call was not made. Make it again when the other call has ended."
)
SUBAGENT = (
    "A subagent cannot wait for people, so this call was not made. Return to the main agent, which "
    "can make the call."
)
NOT_DEFERRED = "Claude Code did not wait for people, so this call was not made."
ALLOWED = "{entry!r} would allow {tool} without a person. Remove it from allowed_tools."
Ended = Callable[[str, ResultMessage], Awaitable[object]]
OnMessage = Callable[[str, Message], Awaitable[object]]


class CallFailed(Exception):
    """The tool failed. The message is its error."""


class ClaudeSessions:
    """Runs sessions in which each call of `tools` needs a person's approval, and runs once.

    The session ends at such a call, and is resumed with the answer. With `wait_seconds`, it waits
    so long for the answer before it ends. Each message is passed to `on_message(thread, message)`.
    Use a file of approvals for one kind of session only. Raises ValueError for options with which
    a call could run without an approval.
    """

    def __init__(
        self,
        approvals: AsyncApprovals,
        options: ClaudeAgentOptions,
        tools: Iterable[str],
        *,
        wait_seconds: float = 0,
        on_message: OnMessage | None = None,
    ) -> None:
        self.approvals, self.options, self.tools = approvals, options, frozenset(tools)
        self.wait_seconds, self.on_message = wait_seconds, on_message
        _check(options, self.tools)

    async def start(self, thread: str, prompt: str) -> ResultMessage:
        """Runs a new session to its end or its pause. `thread` is an id that you choose. If the
        session is paused, `deferred_tool_use` of the result is set. Raises WakeError if the server
        is away. Then the next resume_answered() asks."""
        return await self._run(_Session(thread), prompt, self.options)

    async def resume_answered(self, on_end: Ended | None = None) -> dict[str, ResultMessage]:
        """Resumes each session whose call is answered. Returns the results by thread. If a session
        has ended, calls `on_end` with its thread and result: a process that dies before `on_end`
        returns resumes the session again. Raises WakeError, or an ExceptionGroup of the errors of
        single sessions."""
        results: dict[str, ResultMessage] = {}

        async def resume(run: AnsweredRun) -> None:
            result = await self._resumed(run)
            if result is None:
                return
            results[run.thread] = result
            if result.deferred_tool_use is None and on_end is not None:
                await on_end(run.thread, result)

        for thread, state in self.approvals.unasked(FRAMEWORK).items():
            await self.approvals.ask_about(_paused(thread, state)[1])
        await self.approvals.resume_answered(FRAMEWORK, resume)
        return results

    async def _resumed(self, run: AnsweredRun) -> ResultMessage | None:
        if run.state is None:  # the process died before the session was paused
            return None
        session_id, call = _paused(run.thread, run.state)
        verdicts = await self.approvals.verdicts([call])
        if verdicts is None:
            return None
        session = _Session(run.thread, call, verdicts[call.call_id])
        # A fork leaves the paused session as it is, so that it can be resumed again if this process
        # dies. Otherwise Claude Code would go on without an answer, and lose the call.
        options = replace(self.options, resume=session_id, fork_session=True)
        return await self._run(session, None, options)

    async def _run(
        self, session: _Session, prompt: str | None, options: ClaudeAgentOptions
    ) -> ResultMessage:
        result: ResultMessage | None = None
        async with ClaudeSDKClient(self._guarded(session, options)) as client:
            if prompt is not None:
                await client.query(prompt)
            async for message in client.receive_response():
                if self.on_message is not None:
                    await self.on_message(session.thread, message)
                if isinstance(message, ResultMessage):
                    result = message
        if result is not None and result.deferred_tool_use is not None:
            self.approvals.save(FRAMEWORK, session.thread, _state(result))
        if session.failure is not None:
            raise session.failure
        if result is None:
            raise ConnectionError("Claude Code ended without a result.")
        return result

    def _guarded(self, session: _Session, options: ClaudeAgentOptions) -> ClaudeAgentOptions:
        """Returns the options with our hooks. They see every call, also those of allowed tools."""

        async def before(given: Any, *ignored: Any) -> Any:
            return await self._before(session, given) if given["tool_name"] in self.tools else {}

        async def after(given: Any, *ignored: Any) -> Any:
            if given["tool_name"] in self.tools:
                error = given.get("error")
                failure = None if error is None else CallFailed(error)
                await self.approvals.end(_call(session.thread, given), failure)
            return {}

        async def can_use(
            tool: str, given: dict[str, Any], context: ToolPermissionContext
        ) -> PermissionResult:
            if tool in self.tools or theirs is None:
                return PermissionResultDeny(message=NOT_DEFERRED)
            return await theirs(tool, given, context)

        theirs: CanUseTool | None = options.can_use_tool
        seconds = self.wait_seconds + HOOK_SECONDS
        hooks: dict[Any, list[HookMatcher]] = {**(options.hooks or {})}
        hooks["PreToolUse"] = [HookMatcher(hooks=[before], timeout=seconds, on_failure="block")]
        for event in ("PostToolUse", "PostToolUseFailure"):
            hooks[event] = [HookMatcher(hooks=[after]), *hooks.get(event, [])]
        return replace(options, hooks=hooks, can_use_tool=theirs and can_use)

    async def _before(self, session: _Session, given: Any) -> Any:
        call = _call(session.thread, given)
        if given.get("agent_id"):
            return _answer("deny", SUBAGENT)
        if session.waiting not in {None, call.call_id}:
            return _answer("deny", ONE_AT_A_TIME)
        session.waiting = call.call_id
        try:
            verdict = await self._verdict(session, call)
            if verdict is None:
                return _answer("defer")
            answer = await self._used(call, verdict)
        except Exception as failure:
            session.failure = failure
            return _answer("defer")
        session.waiting = None
        return answer

    async def _verdict(self, session: _Session, call: ToolCall) -> Verdict | None:
        if session.call is not None and call.call_id == session.call.call_id:
            return session.verdict
        await self.approvals.ask_about(call)
        verdict = await self.approvals.wait(call, timeout=self.wait_seconds)
        if verdict is not None:
            self.approvals.went_on(call)
        return verdict

    async def _used(self, call: ToolCall, verdict: Verdict) -> Any:
        """Uses the approval, and returns the answer for Claude Code."""
        if verdict.decision == "deny":
            return _answer("deny", verdict.words)
        arguments = call.arguments if verdict.arguments is None else verdict.arguments
        try:
            await self.approvals.begin(replace(call, arguments=arguments))
        except NotRun as reason:
            return _answer("deny", str(reason))
        note = {"additionalContext": verdict.words} if verdict.words else {}
        return _answer("allow", updatedInput=arguments, **note)


@dataclass(slots=True)
class _Session:
    """Holds what one process knows of a session. `call` is the call at which it was paused, and
    `waiting` the id of the call that waits for people."""

    thread: str
    call: ToolCall | None = None
    verdict: Verdict | None = None
    waiting: str | None = None
    failure: Exception | None = None


def _check(options: ClaudeAgentOptions, tools: frozenset[str]) -> None:
    """Raises ValueError for options with which a call could run without an approval."""
    if options.permission_mode in UNSAFE_MODES or UNSAFE_FLAGS & options.extra_args.keys():
        raise ValueError("Use another permission_mode. This one allows calls without a person.")
    if "PreToolUse" in (options.hooks or {}):
        raise ValueError("Another PreToolUse hook could change arguments that people have read.")
    for entry in options.allowed_tools:
        name = entry.partition("(")[0]
        for tool in tools:
            if fnmatchcase(tool, name) or tool.startswith(f"{name}__"):
                raise ValueError(ALLOWED.format(entry=entry, tool=tool))


def _call(thread: str, given: Any) -> ToolCall:
    tool, arguments = given["tool_name"], given["tool_input"]
    return ToolCall(FRAMEWORK, thread, given["tool_use_id"], tool, arguments)


def _answer(decision: str, reason: str = "", **more: Any) -> Any:
    fields = {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}
    return {"hookSpecificOutput": {**fields, "permissionDecisionReason": reason}}


def _state(result: ResultMessage) -> str:
    call = result.deferred_tool_use
    assert call is not None  # noqa: S101
    return json.dumps(
        {
            "session_id": result.session_id,
            "call": {"tool_use_id": call.id, "tool_name": call.name, "tool_input": call.input},
        }
    )


def _paused(thread: str, state: str) -> tuple[str, ToolCall]:
    stored = json.loads(state)
    return stored["session_id"], _call(thread, stored["call"])
