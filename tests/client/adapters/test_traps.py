"""A framework that goes on without an answer, or another way than people chose, runs no tool."""

from __future__ import annotations

import pytest

from tests.client.adapters.processes import REFUND
from tests.client.adapters.site import site
from tests.client.adapters.test_frameworks import Framework, Stage, staged
from wake_client.adapters import verdicts

__all__ = ["site", "staged"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.peers]
CREWAI, ADK = Framework("crewai"), Framework("google-adk")
AGAIN, STUBBORN = Framework("crewai", ("again",)), Framework("crewai", ("stubborn",))


def only(*frameworks: Framework) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("staged", frameworks, ids=str, indirect=True)


@only(CREWAI, ADK)
def test_a_run_that_is_resumed_without_an_answer_runs_no_tool(staged: Stage) -> None:
    agent = staged.agent("by-hand")
    staged.start(agent)

    lines = agent.run("by_hand")

    assert [line["told"] for line in lines][-1] in {verdicts.NOT_ASKED, verdicts.NOT_ANSWERED}
    assert agent.refunds == []


@only(STUBBORN)
def test_a_flow_that_takes_another_outcome_fails_and_runs_no_tool(staged: Stage) -> None:
    agent = staged.agent("stubborn")
    (delivery,) = staged.start(agent)
    staged.answer(delivery, "rejected", feedback="Not approved.")

    assert "OutcomeDiffers" in agent.fails("resume", *staged.framework.words)

    assert staged.resume(agent) == []
    assert agent.refunds == []


@only(AGAIN)
def test_a_flow_that_pauses_again_asks_again_also_if_its_process_dies(staged: Stage) -> None:
    agent = staged.agent("again")
    (first,) = staged.start(agent)
    staged.answer(first, "rejected", feedback="Half of it.")
    agent.run("resume", *staged.framework.words, dies="before deliver")

    assert staged.resume(agent) == []

    _, second = staged.questions(agent)
    assert second.details["proposal"] == {**REFUND, "cents": 4_500}
    staged.answer(second)
    assert staged.resume(agent) == ["Refunded 4500."]
    assert staged.resume(agent) == []
