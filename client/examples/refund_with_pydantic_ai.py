"""An agent of Pydantic AI that refunds an order after a person has approved the refund.

    python refund_with_pydantic_ai.py start      # asks people, and ends
    python refund_with_pydantic_ai.py resume     # continues each run that people have answered

The environment has WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID. The file approvals.db is in the
current folder. The model is scripted, so the example needs no other key: use your own in its place.
"""

import asyncio
import os
import sys
import uuid

from pydantic_ai import Agent, AgentRunResult, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from wake_client import AsyncWakeClient
from wake_client.adapters import AskOptions, AsyncApprovals
from wake_client.adapters.pydantic_ai import AgentApprovals, ApprovedToolCalls


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Calls the tool, then repeats what the tool said."""
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart):
            return ModelResponse([TextPart(str(part.content))])
    return ModelResponse([ToolCallPart("refund", {"order": "A-1042", "cents": 18_000})])


def refund(order: str, cents: int) -> str:
    """Refunds an order."""
    print(f"Refunding {cents / 100:.2f} EUR for {order}")
    return f"{order} is refunded."


async def ended(thread: str, result: AgentRunResult[object]) -> None:
    print("The agent says:", result.output)


async def main() -> None:
    endpoint, key, name = (
        os.environ[each] for each in ("WAKE_ENDPOINT", "WAKE_API_KEY", "WAKE_AGENT_ID")
    )
    async with AsyncWakeClient(endpoint, key, agent_id=name) as wake:
        approvals = AsyncApprovals(
            wake, "approvals.db", tools={"refund": AskOptions(irreversible=True)}
        )
        agent = Agent(
            FunctionModel(scripted),
            output_type=[str, DeferredToolRequests],
            capabilities=[ApprovedToolCalls(approvals)],
        )
        agent.tool_plain(refund, requires_approval=True)
        runs = AgentApprovals(agent, approvals)
        if sys.argv[1] == "start":
            await runs.ask_about(str(uuid.uuid4()), await agent.run("Refund order A-1042."))
            print("Answer in Wake, then run: resume")
        else:
            await runs.resume_answered(ended)


asyncio.run(main())
