"""A CrewAI flow that refunds an order after a person has approved the refund.

    python refund_with_crewai.py start      # asks people, and ends
    python refund_with_crewai.py resume     # continues each flow that people have answered

The environment has WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID. The files are in the current
folder. The model is scripted, so the example needs no other key: use your own in its place.
"""

import os
import sys
import uuid
from typing import Any

from crewai.flow.flow import Flow, listen, or_, start
from crewai.flow.human_feedback import HumanFeedbackResult, human_feedback
from crewai.flow.persistence import SQLiteFlowPersistence
from crewai.llms.base_llm import BaseLLM

from wake_client import WakeClient
from wake_client.adapters import Approvals, AskOptions, NotRun
from wake_client.adapters.crewai import AsksPeople, FlowApprovals, call_approved


class Scripted(BaseLLM):
    """CrewAI wants a model for each review with `emit`. The adapter lets it decide nothing."""

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        return "approved"


def refund(order: str, cents: int) -> str:
    print(f"Refunding {cents / 100:.2f} EUR for {order}")
    return f"{order} is refunded."


wake = WakeClient(
    os.environ["WAKE_ENDPOINT"], os.environ["WAKE_API_KEY"], agent_id=os.environ["WAKE_AGENT_ID"]
)
approvals = Approvals(wake, "approvals.db", tools={"refund": AskOptions(irreversible=True)})


class Refunds(Flow[dict[str, Any]]):
    @start()
    @human_feedback(
        "Refund this order?",
        emit=["approved", "rejected"],
        llm=Scripted(model="scripted"),
        provider=AsksPeople(),
    )
    def refund(self) -> dict[str, Any]:
        return {"order": "A-1042", "cents": 18_000}

    @listen("approved")
    def pay(self, review: HumanFeedbackResult) -> str:
        try:
            return call_approved(approvals, review, lambda output: refund(**output))
        except NotRun as reason:
            return str(reason)

    @listen("rejected")
    def explain(self, review: HumanFeedbackResult) -> str:
        return f"Not refunded: {review.feedback}"

    @listen(or_(pay, explain))
    def end(self, words: str) -> None:
        print("The flow says:", words)


persistence = SQLiteFlowPersistence("flows.db")
flows = FlowApprovals(Refunds, approvals, persistence=persistence, suppress_flow_events=True)

if sys.argv[1] == "start":
    flows.start(str(uuid.uuid4()))
    print("Answer in Wake, then run: resume")
else:
    flows.resume_answered()
