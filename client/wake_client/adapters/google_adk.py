"""Lets agents of Google's Agent Development Kit wait for people (docs/adapters/google-adk.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from wake_client.adapters import AnsweredRun, AsyncApprovals, NotRun, ToolCall, Verdict

FRAMEWORK = "Google ADK"
# The name of the call by which ADK asks for a confirmation.
REQUEST = "adk_request_confirmation"
NOT_RESUMABLE = (
    "The app of the runner needs ResumabilityConfig(is_resumable=True), so that another process "
    "can go on."
)


class ReturnedError(Exception):
    """A tool of ADK returned an error instead of raising it."""

    def __init__(self, result: Any) -> None:
        super().__init__(str(result["error"]))
        self.result = result


class ApprovedTool(BaseTool):
    """Runs each call of a tool once, and only with an approval. `tool` is a function or a tool."""

    def __init__(self, tool: BaseTool | Callable[..., Any], approvals: AsyncApprovals) -> None:
        self.tool = tool if isinstance(tool, BaseTool) else FunctionTool(tool)
        self.approvals = approvals
        super().__init__(
            name=self.tool.name,
            description=self.tool.description,
            is_long_running=self.tool.is_long_running,
            custom_metadata=self.tool.custom_metadata,
        )

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        return self.tool._get_declaration()  # ADK asks its tools by this method

    async def check_require_confirmation(
        self, args: dict[str, Any], tool_context: ToolContext
    ) -> bool:
        """Lets ADK pause. After the pause, run_async decides by itself: it knows why."""
        return tool_context.tool_confirmation is None

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        answer = tool_context.tool_confirmation
        payload = answer.payload if answer and isinstance(answer.payload, dict) else {}
        if answer and not answer.confirmed and payload.get("words"):
            return {"error": payload["words"]}
        arguments = payload.get("arguments") or args
        thread = _thread(tool_context.user_id, tool_context.session.id)
        call = ToolCall(
            FRAMEWORK, thread, tool_context.function_call_id or "", self.name, arguments
        )

        async def run() -> Any:
            result = await self.tool.run_async(args=arguments, tool_context=tool_context)
            if isinstance(result, dict) and result.get("error"):
                raise ReturnedError(result)
            return result

        try:
            return await self.approvals.run(call, run)
        except NotRun as reason:
            return {"error": str(reason)}
        except ReturnedError as failure:
            return failure.result


class SessionApprovals:
    """Asks people about the calls for which a session is paused, and resumes the session with their
    answers. Use a file of approvals for one app only.

    `runner` has an app that is resumable, and a session service that stores the sessions. Other
    arguments, such as `run_config`, are passed to each `run_async`. Raises ValueError if the app is
    not resumable.
    """

    def __init__(self, runner: Runner, approvals: AsyncApprovals, **run: Any) -> None:
        if not (runner.resumability_config and runner.resumability_config.is_resumable):
            raise ValueError(NOT_RESUMABLE)
        self.runner, self.approvals, self.run = runner, approvals, run

    async def ask_about(self, user_id: str, session_id: str) -> None:
        """Asks people about each call for which the session is paused. Raises WakeError."""
        thread = _thread(user_id, session_id)
        pauses = _pauses(await self._events(user_id, session_id))
        for pause in (each for each in pauses if each.is_open):
            self.approvals.save(FRAMEWORK, thread, "")  # else unasked() would not know the session
            await self.approvals.ask_about(pause.call(thread))

    async def resume_answered(self) -> list[tuple[str, str]]:
        """Resumes each session whose calls are all answered. Returns their ids of user and session.
        Raises WakeError, or an ExceptionGroup of the errors of single sessions."""
        for thread in self.approvals.unasked(FRAMEWORK):
            await self.ask_about(*_ids(thread))
        runs = await self.approvals.resume_answered(FRAMEWORK, self._resume)
        return [_ids(run.thread) for run in runs]

    async def _resume(self, run: AnsweredRun) -> None:
        user_id, session_id = _ids(run.thread)
        pauses = _pauses(await self._events(user_id, session_id))
        paused = [pause for pause in pauses if pause.is_open]
        verdicts = await self.approvals.verdicts([pause.call(run.thread) for pause in paused])
        if verdicts is None:  # the process died before it had asked about all calls
            return
        for invocation_id in {pause.invocation_id for pause in paused}:
            parts = [
                pause.answer(verdicts[pause.original["id"]])
                for pause in paused
                if pause.invocation_id == invocation_id
            ]
            message = types.Content(role="user", parts=parts)
            await self._run(user_id, session_id, invocation_id, message)
        if not paused and pauses:  # the process died after the tools, before the model went on
            await self._run(user_id, session_id, pauses[-1].invocation_id, None)
        await self.ask_about(user_id, session_id)

    async def _run(
        self, user_id: str, session_id: str, invocation_id: str, message: types.Content | None
    ) -> None:
        async for _ in self.runner.run_async(
            user_id=user_id,
            session_id=session_id,
            invocation_id=invocation_id,
            new_message=message,
            **self.run,
        ):
            pass

    async def _events(self, user_id: str, session_id: str) -> list[Event]:
        session = await self.runner.session_service.get_session(
            app_name=self.runner.app_name, user_id=user_id, session_id=session_id
        )
        return session.events if session else []


@dataclass(frozen=True, slots=True)
class _Pause:
    """Holds a call by which ADK asks for a confirmation, and the call that it is about."""

    id: str
    invocation_id: str
    original: dict[str, Any]
    is_open: bool = True

    def call(self, thread: str) -> ToolCall:
        name, arguments = self.original["name"], self.original.get("args") or {}
        return ToolCall(FRAMEWORK, thread, self.original["id"], name, arguments)

    def answer(self, verdict: Verdict) -> types.Part:
        payload = {"words": verdict.words, "arguments": verdict.arguments}
        answer = {"confirmed": verdict.decision != "deny", "payload": payload}
        return types.Part(
            function_response=types.FunctionResponse(id=self.id, name=REQUEST, response=answer)
        )


def _pauses(events: Iterable[Event]) -> list[_Pause]:
    """Returns the pauses of a session. A pause is open until its call has a result: a process that
    died may have answered it before."""
    pauses: dict[str, _Pause] = {}
    answered: set[str] = set()
    for event in events:
        for call in event.get_function_calls():
            original = (call.args or {}).get("originalFunctionCall")
            if call.name == REQUEST and call.id and original:
                pauses[original["id"]] = _Pause(call.id, event.invocation_id, original)
        for response in event.get_function_responses():
            pause = pauses.get(response.id or "")
            if response.name == REQUEST and event.author == "user":
                answered.add(response.id or "")
            elif pause and pause.id in answered:
                pauses[pause.original["id"]] = replace(pause, is_open=False)
    return list(pauses.values())


def _thread(user_id: str, session_id: str) -> str:
    """Returns one id for both. People see it, so only what _ids() needs is encoded."""
    ids = (each.replace("%", "%25").replace("/", "%2F") for each in (user_id, session_id))
    return "/".join(ids)


def _ids(thread: str) -> tuple[str, str]:
    user_id, _, session_id = thread.partition("/")
    return unquote(user_id), unquote(session_id)
