"""An agent of Google ADK that refunds an order after a person has approved the refund.

    python refund_with_google_adk.py start      # asks people, and ends
    python refund_with_google_adk.py resume     # continues each session that people have answered

The environment has WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID. The files are in the current
folder. The model is scripted, so the example needs no other key: use your own in its place.
"""

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from wake_client import AsyncWakeClient
from wake_client.adapters import AskOptions, AsyncApprovals
from wake_client.adapters.google_adk import ApprovedTool, SessionApprovals

USER = "ann"


class Scripted(BaseLlm):
    """Calls the tool, then repeats what the tool said."""

    async def generate_content_async(
        self, llm_request: LlmRequest, *args: Any, **kwargs: Any
    ) -> AsyncGenerator[LlmResponse, None]:
        answer = llm_request.contents[-1].parts[0].function_response
        if answer:
            part = types.Part(text=" ".join(map(str, answer.response.values())))
        else:
            arguments = {"order": "A-1042", "cents": 18_000}
            call = types.FunctionCall(id=str(uuid.uuid4()), name="refund", args=arguments)
            part = types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def refund(order: str, cents: int) -> str:
    """Refunds an order."""
    print(f"Refunding {cents / 100:.2f} EUR for {order}")
    return f"{order} is refunded."


async def main(step: str) -> None:
    async with AsyncWakeClient(
        os.environ["WAKE_ENDPOINT"],
        os.environ["WAKE_API_KEY"],
        agent_id=os.environ["WAKE_AGENT_ID"],
    ) as wake:
        options = AskOptions(irreversible=True)
        approvals = AsyncApprovals(wake, "approvals.db", tools={"refund": options})
        agent = LlmAgent(
            name="support",
            model=Scripted(model="scripted"),
            tools=[ApprovedTool(refund, approvals)],
        )
        runner = Runner(
            app=App(
                name="refunds",
                root_agent=agent,
                resumability_config=ResumabilityConfig(is_resumable=True),
            ),
            session_service=SqliteSessionService("sessions.db"),
            auto_create_session=True,
        )
        sessions = SessionApprovals(runner, approvals)

        if step == "start":
            session_id = str(uuid.uuid4())
            message = types.Content(role="user", parts=[types.Part(text="Refund order A-1042.")])
            async for _ in runner.run_async(
                user_id=USER, session_id=session_id, new_message=message
            ):
                pass
            await sessions.ask_about(USER, session_id)
            print("Answer in Wake, then run: resume")
        else:
            for user_id, session_id in await sessions.resume_answered():
                session = await runner.session_service.get_session(
                    app_name="refunds", user_id=user_id, session_id=session_id
                )
                said = [event.content.parts[0].text for event in session.events if event.content]
                print("The agent says:", said[-1])


asyncio.run(main(sys.argv[1]))
