"""Lets flows of CrewAI wait for people (docs/adapters/crewai.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from crewai.flow.async_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.human_feedback import HumanFeedbackResult
from crewai.flow.persistence import FlowPersistence, SQLiteFlowPersistence
from crewai.flow.runtime import Flow
from crewai.llms.base_llm import BaseLLM
from pydantic import PrivateAttr

from wake_client.adapters import AnsweredRun, Approvals, NotRun, ToolCall, Verdict, verdicts

FRAMEWORK = "CrewAI"
# The key in the metadata of a review. It names the call that people answered, and the outcome.
CALL = "wake_call"
NOT_ITS_WORDS = "@human_feedback of {method} needs emit with {approved!r} and {rejected!r}."
DIFFERS = "The flow {flow} took the outcome {taken!r}, but the answer means {outcome!r}."
Result = TypeVar("Result")


class OutcomeDiffers(Exception):
    """A flow went another way than the one that the answer means."""


class AsksPeople:
    """Pauses a flow until people have answered: `@human_feedback(..., provider=AsksPeople())`."""

    def request_feedback(self, context: PendingFeedbackContext, flow: Flow[Any]) -> NoReturn:
        raise HumanFeedbackPending(context=context)


class FlowApprovals:
    """Starts flows of one class, asks people about the output for which a flow pauses, and resumes
    the flow with their answers.

    `approved` and `rejected` are the two words of `emit` for an approval and for a denial. Other
    arguments are passed to the class of the flow. Use a file of approvals for one class only.
    """

    def __init__(
        self,
        flow: type[Flow[Any]],
        approvals: Approvals,
        *,
        approved: str = "approved",
        rejected: str = "rejected",
        persistence: FlowPersistence | None = None,
        **options: Any,
    ) -> None:
        self.flow, self.approvals, self.options = flow, approvals, options
        self.approved, self.rejected = approved, rejected
        self.persistence = persistence or SQLiteFlowPersistence()

    def start(self, flow_id: str, inputs: dict[str, Any] | None = None) -> Any:
        """Starts a flow with this id. Returns its result, or None if it is paused until people have
        answered. For a paused flow, only asks the people who were not asked because the server was
        away or a process died. Raises WakeError, and ValueError if `emit` lacks a word."""
        if self._pause(flow_id, self.approvals.saved(FRAMEWORK, flow_id)) is None:
            flow = self.flow(persistence=self.persistence, **self.options)
            result = flow.kickoff(inputs={**(inputs or {}), "id": flow_id})
            if not isinstance(result, HumanFeedbackPending):
                return result
        self._ask_about(flow_id)
        return None

    def resume_answered(self) -> list[str]:
        """Resumes each flow whose question is answered, and returns their ids. Raises WakeError, or
        an ExceptionGroup of the errors of single flows."""
        for flow_id in self.approvals.unasked(FRAMEWORK):
            self._ask_about(flow_id)
        runs = self.approvals.resume_answered(FRAMEWORK, self._resume)
        return [run.thread for run in runs]

    def _ask_about(self, flow_id: str) -> None:
        pause = self._pause(flow_id, self.approvals.saved(FRAMEWORK, flow_id))
        if pause is None:
            return
        state, context = pause
        words = {"approved": self.approved, "rejected": self.rejected}
        if context.emit and not {*words.values()} <= {*context.emit}:
            raise ValueError(NOT_ITS_WORDS.format(method=context.method_name, **words))
        saved = {"state": state, "context": context.to_dict()}
        self.approvals.save(FRAMEWORK, flow_id, json.dumps(saved))
        self.approvals.ask_about(_call(context))

    def _pause(
        self, flow_id: str, saved: str | None
    ) -> tuple[dict[str, Any], PendingFeedbackContext] | None:
        """Returns the state of a paused flow, and what it waits for. CrewAI deletes them before it
        goes on. If the process died then, stores them again, so that the flow can be resumed."""
        pause: tuple[dict[str, Any], PendingFeedbackContext] | None
        pause = self.persistence.load_pending_feedback(flow_id)
        if pause is None and saved is not None:
            kept = json.loads(saved)
            context = PendingFeedbackContext.from_dict(kept["context"])
            self.persistence.save_pending_feedback(flow_id, context, kept["state"])
            pause = kept["state"], context
        return pause

    def _resume(self, run: AnsweredRun) -> None:
        pause = self._pause(run.thread, run.state)
        if pause is None:
            return
        verdict = run.verdicts.get(_call(pause[1]).call_id)
        if verdict is None:  # the flow paused again, and the process died before people were asked
            self._ask_about(run.thread)
            return
        flow = self.flow.from_pending(run.thread, self.persistence, **self.options)
        outcome, words = self._answer(flow.pending_feedback, verdict)
        result = flow.resume(words)
        taken = flow.human_feedback_history[0].outcome
        if taken != outcome:
            self.approvals.resumed(run)  # the next sweep would go the wrong way again
            raise OutcomeDiffers(DIFFERS.format(flow=run.thread, taken=taken, outcome=outcome))
        if isinstance(result, HumanFeedbackPending):
            self._ask_about(run.thread)

    def _answer(self, context: Any, verdict: Verdict) -> tuple[str | None, str]:
        """Writes a verdict into what a flow waits for. Returns the outcome and the words for the
        flow. The words are never empty: CrewAI takes the first outcome for an empty text."""
        edit = verdict.arguments or {}
        is_text = not isinstance(context.method_output, dict)
        if is_text and verdict.decision == "edit" and edit.keys() != {"output"}:
            verdict = verdict.without_edit
        word = self.rejected if verdict.decision == "deny" else self.approved
        outcome = word if context.emit else None
        place = {"flow": context.flow_id, "call": _call(context).call_id, "outcome": outcome}
        context.metadata = {**context.metadata, CALL: place}
        if verdict.decision == "edit":
            context.method_output = edit["output"] if is_text else edit
        if outcome is not None:
            chosen = _ChosenOutcome(model=FRAMEWORK, outcome=outcome)
            chosen.replace_model_of(context)
        return outcome, verdict.words or word


class _ChosenOutcome(BaseLLM):
    """Answers in place of the model that classifies the words of people, so that no model
    decides. Gives the place back at once, because the flow's own model may learn from the words."""

    outcome: str
    _give_back: Callable[[], None] = PrivateAttr()

    def replace_model_of(self, context: Any) -> None:
        model = context.llm

        def give_back() -> None:
            context.llm = model

        self._give_back = give_back
        context.llm = self  # CrewAI takes a model here, too, and not only its name

    def call(self, *args: Any, **kwargs: Any) -> str:
        self._give_back()
        return json.dumps({"outcome": self.outcome})


def call_approved(
    approvals: Approvals, review: HumanFeedbackResult, run: Callable[[Any], Result]
) -> Result:
    """Runs `run(review.output)` once, with the output that a person approved or edited. Call it in
    the step of the flow that needs the approval. Raises NotRun if there is no approval, and
    WakeError."""
    place = review.metadata.get(CALL)
    if place is None or place["outcome"] != review.outcome:
        raise NotRun(verdicts.NOT_ASKED)
    arguments = _arguments(review.output)
    call = ToolCall(FRAMEWORK, place["flow"], place["call"], review.method_name, arguments)
    return approvals.run(call, lambda: run(review.output))


def _call(context: PendingFeedbackContext) -> ToolCall:
    """Returns the call that a pause stands for. A method may pause several times in one flow."""
    return ToolCall(
        FRAMEWORK,
        context.flow_id,
        f"{context.method_name} {context.requested_at.isoformat()}",
        context.method_name,
        _arguments(context.method_output),
    )


def _arguments(output: Any) -> dict[str, Any]:
    return output if isinstance(output, dict) else {"output": output}
