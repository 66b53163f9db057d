"""Runs an agent of Pydantic AI whose scripted model calls the tool `refund`, one step in each
process: `start` runs the agent to its pause and asks people, and `resume` resumes every answered
run."""

import asyncio
import json
import sqlite3
import sys

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.client.adapters import stage
from wake_client.adapters import AsyncApprovals
from wake_client.adapters.pydantic_ai import FRAMEWORK, AgentApprovals, ApprovedToolCalls


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    answers = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if not answers:
        calls = [ToolCallPart("refund", call["arguments"], call["id"]) for call in stage.CALLS]
        return ModelResponse(calls)
    stage.die("model")
    for answer in answers:
        stage.say(told=answer.content)
    return ModelResponse([TextPart("The end.")])


def change(approvals: AsyncApprovals) -> None:
    """Changes the arguments in the stored messages."""
    with sqlite3.connect(stage.PATH) as database:
        ((text,),) = database.execute("SELECT state FROM runs")
        state = json.loads(text)
        (call,) = state["messages"][-1]["parts"]
        call["args"] = stage.OTHER_ARGUMENTS
        approvals.save(FRAMEWORK, stage.THREAD, json.dumps(state))


async def main() -> None:
    async with stage.async_wake() as wake:
        approvals = AsyncApprovals(wake, stage.PATH, options=stage.OPTIONS)
        agent = Agent(
            FunctionModel(scripted),
            output_type=[str, DeferredToolRequests],
            capabilities=[ApprovedToolCalls(approvals)],
        )
        agent.tool_plain(stage.refund, requires_approval=True)
        runs = AgentApprovals(agent, approvals)
        if stage.CHANGED:
            change(approvals)
        if sys.argv[1] == "resume" or stage.THREAD in approvals.unasked(FRAMEWORK):
            ended = await runs.resume_answered()
            stage.say(resumed={thread: result.output for thread, result in ended.items()})
        else:
            assert await runs.ask_about(stage.THREAD, await agent.run("Refund it."))


asyncio.run(main())
