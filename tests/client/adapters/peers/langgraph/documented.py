"""Runs the block of docs/adapters/langgraph.md that is the first argument, with the names that the
page explains."""

import sqlite3
import sys
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from tests.client.adapters import stage
from wake_client.adapters import Approvals
from wake_client.adapters.langgraph import GraphApprovals

sys.argv[2:] = ["per_call"]
from caller import Scripted  # noqa: E402 - it reads the arguments

database = sqlite3.connect(stage.FOLDER / "state.db", check_same_thread=False)
checkpointer = SqliteSaver(database)
approvals = Approvals(stage.wake(), stage.PATH)
names: dict[str, Any] = {
    "endpoint": stage.CLIENT["endpoint"],
    "key": stage.CLIENT["key"],
    "model": Scripted(),
    "refund": stage.refund,
    "checkpointer": checkpointer,
    "approvals": approvals,
}
exec(sys.argv[1], names)  # noqa: S102 - our own document
if "refund_node" in names:
    built: Any = StateGraph(dict)
    built.add_node("refund", names["refund_node"])
    built.add_edge(START, "refund")
    graph = built.compile(checkpointer=checkpointer)
    graph.invoke(stage.CALLS[0]["arguments"], {"configurable": {"thread_id": "42"}})
    GraphApprovals(graph, approvals).ask_about("42")
