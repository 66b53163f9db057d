"""Runs an agent of Google ADK whose scripted model calls the tool `refund`, one step in each
process.

The first argument is the step: `start` runs the agent to its pause and asks people, and `resume`
resumes every answered session. `by_hand` confirms the call without an answer.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from tests.client.adapters import stage
from wake_client.adapters import AsyncApprovals
from wake_client.adapters.google_adk import ApprovedTool, SessionApprovals

STEP = sys.argv[1]
PLACE: dict[str, Any] = {"user_id": "ann@example.com", "session_id": stage.THREAD}


class Scripted(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        answers = [part.function_response for part in parts if part.function_response]
        if answers:
            stage.die("model")
            for answer in answers:
                result = answer.response or {}
                stage.say(told=result.get("result") or result["error"])
            yield _said(types.Part(text="The end."))
            return
        yield _said(
            *(
                types.Part(
                    function_call=types.FunctionCall(
                        id=call["id"], name="refund", args=call["arguments"]
                    )
                )
                for call in stage.CALLS
            )
        )


def _said(*parts: types.Part) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=list(parts)))


def change(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
    if stage.CHANGED:
        args["cents"] += 1


async def main() -> None:
    async with stage.async_wake() as wake:
        approvals = AsyncApprovals(wake, stage.PATH, options=stage.OPTIONS)
        agent = LlmAgent(
            name="support",
            model=Scripted(model="scripted"),
            tools=[ApprovedTool(stage.refund, approvals)],
            before_tool_callback=change,
        )
        app = App(
            name="refunds",
            root_agent=agent,
            resumability_config=ResumabilityConfig(is_resumable=True),
        )
        service = SqliteSessionService(str(stage.FOLDER / "sessions.db"))
        runner = Runner(app=app, session_service=service, auto_create_session=True)
        sessions = SessionApprovals(runner, approvals)
        if STEP == "start":
            await start(runner, sessions)
        elif STEP == "by_hand":
            await confirm(runner)
        else:
            stage.say(resumed=await sessions.resume_answered())


async def start(runner: Runner, sessions: SessionApprovals) -> None:
    if await session(runner) is None:
        await send(runner, types.Part(text="Refund it."))
    await sessions.ask_about(**PLACE)


async def confirm(runner: Runner) -> None:
    """Confirms the paused call, as a page of ADK does."""
    calls = [
        call for event in (await session(runner)).events for call in event.get_function_calls()
    ]
    confirmed = types.FunctionResponse(
        id=calls[-1].id, name=calls[-1].name, response={"confirmed": True}
    )
    await send(runner, types.Part(function_response=confirmed))


async def session(runner: Runner) -> Any:
    return await runner.session_service.get_session(app_name=runner.app_name, **PLACE)


async def send(runner: Runner, part: types.Part) -> None:
    message = types.Content(role="user", parts=[part])
    async for _ in runner.run_async(new_message=message, **PLACE):
        pass


asyncio.run(main())
