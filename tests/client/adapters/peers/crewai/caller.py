"""Runs a flow of CrewAI that prepares a refund and makes it, one step in each process.

The first argument is the step: `start` runs the flow to its pause and asks people, and `resume`
resumes every answered flow. `by_hand` resumes the flow without an answer. The second argument is
the kind of the flow. "again" prepares a smaller refund after a rejection, and "stubborn" takes the
outcome "approved" for every answer.
"""

import os
import sys
from typing import Any

from tests.client.adapters import stage

# CrewAI reads these when it is imported.
os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_STORAGE_DIR": str(stage.FOLDER),
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
    "HOME": str(stage.FOLDER),
}

from crewai.flow.flow import Flow, listen, or_, start
from crewai.flow.human_feedback import HumanFeedbackResult, human_feedback
from crewai.flow.persistence import SQLiteFlowPersistence
from crewai.llms.base_llm import BaseLLM

from wake_client.adapters import Approvals, NotRun
from wake_client.adapters.crewai import AsksPeople, FlowApprovals, call_approved

STEP, KIND = sys.argv[1], (*sys.argv[2:], "")[0]


class Misled(BaseLLM):
    """Takes every answer for an approval."""

    def call(self, *args: Any, **kwargs: Any) -> str:
        return '{"outcome": "approved"}'


REVIEW: Any = human_feedback(
    "Refund this order?",
    emit=["approved", "rejected"],
    llm=Misled(model="misled"),
    provider=AsksPeople(),
)


def flow_of(approvals: Approvals) -> type[Flow[Any]]:
    def pay(review: HumanFeedbackResult) -> None:
        if stage.CHANGED:
            review.output["cents"] += 1
        try:
            told = call_approved(approvals, review, lambda refund: stage.refund(**refund))
        except (NotRun, TypeError) as reason:  # TypeError: the edit is not for refund()
            told = str(reason)
        stage.die("model")
        stage.say(told=told)

    class Refunds(Flow[dict[str, Any]]):
        @start()
        @REVIEW
        def refund(self) -> dict[str, Any]:
            return dict(stage.CALLS[0]["arguments"])

        @listen("approved")
        def pay(self, review: HumanFeedbackResult) -> None:
            pay(review)

        @listen("rejected")
        def explain(self, review: HumanFeedbackResult) -> None:
            stage.say(told=review.feedback)

        def _collapse_to_outcome(self, *args: Any, **kwargs: Any) -> str:
            if KIND == "stubborn":  # as a later version of CrewAI might decide
                return "approved"
            return super()._collapse_to_outcome(*args, **kwargs)

    class Again(Flow[dict[str, Any]]):
        @start()
        def begin(self) -> None:
            self.state["cents"] = 18_000

        @listen(or_(begin, "rejected"))
        @REVIEW
        def refund(self) -> dict[str, Any]:
            self.state["cents"] //= 2
            return {"order": "A-1042", "cents": self.state["cents"]}

        @listen("approved")
        def pay(self, review: HumanFeedbackResult) -> None:
            pay(review)

    return Again if KIND == "again" else Refunds


def main() -> None:
    with stage.wake() as wake:
        approvals = Approvals(wake, stage.PATH, options=stage.OPTIONS)
        flow = flow_of(approvals)
        store = SQLiteFlowPersistence(str(stage.FOLDER / "flows.db"))
        flows = FlowApprovals(flow, approvals, persistence=store, suppress_flow_events=True)
        if STEP == "start":
            flows.start(stage.THREAD)
        elif STEP == "by_hand":
            flow.from_pending(stage.THREAD, store).resume()  # the first word of `emit`
        else:
            stage.say(resumed=flows.resume_answered())


main()
