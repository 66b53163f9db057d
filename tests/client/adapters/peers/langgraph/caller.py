"""Runs a LangChain agent whose scripted model calls the tool `refund`, one step in each process.

The first argument is the step: `start` runs the agent to its pause and asks people, and `resume`
resumes every answered thread. The second argument is the kind of the agent. "per_call" pauses once
for each call, "batched" once for all calls, and "async" awaits. "graph" is a graph of LangGraph
without an agent.
"""

import asyncio
import sqlite3
import sys
from typing import Any

import aiosqlite
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from tests.client.adapters import stage
from wake_client.adapters import Approvals, AsyncApprovals, NotRun
from wake_client.adapters.langgraph import (
    ApprovedCalls,
    AsyncApprovedCalls,
    AsyncGraphApprovals,
    GraphApprovals,
    call_approved,
)

STEP, KIND = sys.argv[1], sys.argv[2]
CONFIG: Any = {"configurable": {"thread_id": stage.THREAD}}
STATE = str(stage.FOLDER / "state.db")


class Scripted(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: Any, *ignored: Any, **options: Any) -> ChatResult:
        answers = [message for message in messages if message.type == "tool"]
        if not answers:
            calls = [
                {"name": "refund", "args": call["arguments"], "id": call["id"]}
                for call in stage.CALLS
            ]
            return _said(AIMessage("", tool_calls=calls))
        stage.die("model")
        for answer in answers:
            stage.say(told=answer.content)
        return _said(AIMessage("The end."))


def _said(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


class Changing(AgentMiddleware):
    """Changes the arguments after people were asked."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(_changed(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(_changed(request))


def _changed(request: Any) -> Any:
    return request.override(tool_call={**request.tool_call, "args": stage.OTHER_ARGUMENTS})


def agent(approved: Any, saver: Any) -> Any:
    mode: Any = "batched" if KIND == "batched" else "per_call"
    asks = HumanInTheLoopMiddleware({"refund": True}, interrupt_mode=mode)
    between = [Changing()] if stage.CHANGED else []
    return create_agent(
        Scripted(), [stage.refund], middleware=[asks, *between, approved], checkpointer=saver
    )


def graph(approvals: Approvals, saver: Any) -> Any:
    def refund(state: dict[str, Any]) -> dict[str, Any]:
        arguments = stage.OTHER_ARGUMENTS if stage.CHANGED else stage.CALLS[0]["arguments"]
        try:
            return {"told": call_approved(approvals, "refund", arguments, stage.refund)}
        except NotRun as reason:
            return {"told": str(reason)}

    def end(state: dict[str, Any]) -> dict[str, Any]:
        stage.die("model")
        stage.say(told=state["told"])
        return {}

    built: Any = StateGraph(dict)
    built.add_node("refund", refund)
    built.add_node("end", end)
    built.add_edge(START, "refund")
    built.add_edge("refund", "end")
    built.add_edge("end", END)
    return built.compile(checkpointer=saver)


def main() -> None:
    database = sqlite3.connect(STATE, check_same_thread=False)
    with stage.wake() as wake:
        approvals = Approvals(wake, stage.PATH, options=stage.OPTIONS)
        saver = SqliteSaver(database)
        if KIND == "graph":
            built = graph(approvals, saver)
        else:
            built = agent(ApprovedCalls(approvals, ["refund"]), saver)
        threads = GraphApprovals(built, approvals)
        if STEP == "start":
            if not built.get_state(CONFIG).next:
                built.invoke({"messages": [("user", "Refund it.")]}, CONFIG)
            threads.ask_about(stage.THREAD)
        else:
            stage.say(resumed=threads.resume_answered())


async def main_async() -> None:
    async with stage.async_wake() as wake, aiosqlite.connect(STATE) as database:
        approvals = AsyncApprovals(wake, stage.PATH, options=stage.OPTIONS)
        built = agent(AsyncApprovedCalls(approvals, ["refund"]), AsyncSqliteSaver(database))
        threads = AsyncGraphApprovals(built, approvals)
        if STEP == "start":
            if not (await built.aget_state(CONFIG)).next:
                await built.ainvoke({"messages": [("user", "Refund it.")]}, CONFIG)
            await threads.ask_about(stage.THREAD)
        else:
            stage.say(resumed=await threads.resume_answered())


if __name__ == "__main__":
    if KIND == "async":
        asyncio.run(main_async())
    else:
        main()
