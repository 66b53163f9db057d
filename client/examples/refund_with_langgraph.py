"""A LangChain agent that refunds an order after a person has approved the refund.

    python refund_with_langgraph.py start      # asks people, and ends
    python refund_with_langgraph.py resume     # continues each run that people have answered

The environment has WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID. The files are in the current
folder. The model is scripted, so the example needs no other key: use your own in its place.
"""

import os
import sqlite3
import sys
import uuid
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver

from wake_client import WakeClient
from wake_client.adapters import Approvals, AskOptions
from wake_client.adapters.langgraph import ApprovedCalls, GraphApprovals


class Scripted(BaseChatModel):
    """Calls the tool, then repeats what the tool said."""

    _llm_type = "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> "Scripted":
        return self

    def _generate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
        answer = AIMessage(messages[-1].content)
        if messages[-1].type == "human":
            arguments = {"order": "A-1042", "cents": 18_000}
            call = {"name": "refund", "args": arguments, "id": str(uuid.uuid4())}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def refund(order: str, cents: int) -> str:
    """Refunds an order."""
    print(f"Refunding {cents / 100:.2f} EUR for {order}")
    return f"{order} is refunded."


wake = WakeClient(
    os.environ["WAKE_ENDPOINT"], os.environ["WAKE_API_KEY"], agent_id=os.environ["WAKE_AGENT_ID"]
)
approvals = Approvals(wake, "approvals.db", tools={"refund": AskOptions(irreversible=True)})
agent = create_agent(
    Scripted(),
    [refund],
    middleware=[
        HumanInTheLoopMiddleware({"refund": True}, interrupt_mode="per_call"),
        ApprovedCalls(approvals, ["refund"]),
    ],
    checkpointer=SqliteSaver(sqlite3.connect("runs.db", check_same_thread=False)),
)
threads = GraphApprovals(agent, approvals)

if sys.argv[1] == "start":
    thread = str(uuid.uuid4())
    config: Any = {"configurable": {"thread_id": thread}}
    agent.invoke({"messages": [("user", "Refund order A-1042.")]}, config)
    threads.ask_about(thread)
    print("Answer in Wake, then run: resume")
else:
    for thread in threads.resume_answered():
        state = agent.get_state({"configurable": {"thread_id": thread}})
        print("The agent says:", state.values["messages"][-1].content)
