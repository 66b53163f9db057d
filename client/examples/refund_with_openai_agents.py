"""An agent of the OpenAI Agents SDK that refunds an order after a person has approved the refund.

    python refund_with_openai_agents.py start      # asks people, and ends
    python refund_with_openai_agents.py resume     # continues each run that people have answered

The environment has WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID. The file approvals.db is in the
current folder. The model is scripted, so the example needs no other key: use your own in its place.
"""

import asyncio
import os
import sys
import uuid
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, RunResult, Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from wake_client import AsyncWakeClient
from wake_client.adapters import AskOptions, AsyncApprovals
from wake_client.adapters.openai_agents import RunApprovals, approved_tool


class Scripted(Model):
    """Calls the tool, then repeats what the tool said."""

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        answers = [item for item in options["input"] if "output" in item]
        return ModelResponse([said(answers[0]) if answers else call()], Usage(), None)

    def stream_response(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


def call() -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call",
        name="refund",
        call_id=str(uuid.uuid4()),
        arguments='{"order": "A-1042", "cents": 18000}',
    )


def said(answer: dict[str, Any]) -> ResponseOutputMessage:
    text = ResponseOutputText(type="output_text", text=answer["output"], annotations=[])
    return ResponseOutputMessage(
        id="message-1", type="message", role="assistant", status="completed", content=[text]
    )


async def ended(thread: str, result: RunResult) -> None:
    print("The agent says:", result.final_output)


async def main() -> None:
    endpoint, key, name = (
        os.environ[each] for each in ("WAKE_ENDPOINT", "WAKE_API_KEY", "WAKE_AGENT_ID")
    )
    async with AsyncWakeClient(endpoint, key, agent_id=name) as wake:
        approvals = AsyncApprovals(
            wake, "approvals.db", tools={"refund": AskOptions(irreversible=True)}
        )

        @approved_tool(approvals)
        def refund(order: str, cents: int) -> str:
            """Refunds an order."""
            print(f"Refunding {cents / 100:.2f} EUR for {order}")
            return f"{order} is refunded."

        agent = Agent[Any](name="Support", model=Scripted(), tools=[refund])
        config = RunConfig(tracing_disabled=True)  # tracing needs a key of OpenAI
        runs = RunApprovals(agent, approvals, run_config=config)
        if sys.argv[1] == "start":
            result = await Runner.run(agent, "Refund order A-1042.", run_config=config)
            await runs.ask_about(str(uuid.uuid4()), result)
            print("Answer in Wake, then run: resume")
        else:
            await runs.resume_answered(ended)


asyncio.run(main())
