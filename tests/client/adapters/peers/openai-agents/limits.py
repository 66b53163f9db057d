"""Runs calls that are unusual, in one process each: the first argument is the step, and the second
the kind. `plain` calls a tool of the framework's own function_tool, `text` calls with arguments
that are no JSON object, and `fails` calls a tool that raises."""

import asyncio
import sys
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool
from caller import Scripted

from tests.client.adapters import stage
from wake_client.adapters import AsyncApprovals
from wake_client.adapters.openai_agents import RunApprovals, approved_tool

STEP, KIND = sys.argv[1:]
CONFIG = RunConfig(tracing_disabled=True)
TEXTS = {"text": '["A-1042"]', "fails": '{"order": "A-1042", "order": "B-7", "cents": 1}'}


def refund(order: str, cents: int) -> str:
    """Refunds an order."""
    raise OSError(f"The bank does not know {order}.")


async def main() -> None:
    async with stage.async_wake() as wake:
        approvals = AsyncApprovals(wake, stage.PATH)
        decorate: Any = approved_tool(approvals)
        if KIND == "plain":
            decorate = function_tool(needs_approval=True)
        calls = [{"id": "call-1", "arguments": TEXTS.get(KIND, "{}")}]
        agent = Agent[Any](
            name="Refunder", tools=[decorate(refund)], model=Scripted("refund", calls)
        )
        runs = RunApprovals(agent, approvals, run_config=CONFIG)
        if STEP == "start":
            await runs.ask_about(stage.THREAD, await Runner.run(agent, "Go.", run_config=CONFIG))
        else:
            await runs.resume_answered()


asyncio.run(main())
