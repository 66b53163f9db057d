"""A process that is killed at any point asks once, uses the approval once, and never runs the tool
twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.client.adapters.processes import REFUND, Agent, told
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from wake.models import Claim, Delivery, Outcome
from wake_client.adapters import verdicts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PROGRAM = Path(__file__).with_name("program.py")
ASKING = ["before deliver", "after deliver"]
REFUNDED = "Refunded 18000."
# For each point: what the next process is told.
RESUMING = {
    "before responses": REFUNDED,
    "after responses": REFUNDED,
    "before claim": REFUNDED,
    "after claim": REFUNDED,
    "tool": verdicts.MAY_HAVE_RUN,
    "before outcome": verdicts.USED,
    "after outcome": verdicts.USED,
}


@pytest.mark.parametrize(
    ("words", "points"),
    [([], [*ASKING, *RESUMING]), (["async"], ["after claim", "tool"])],
    ids=["blocking", "awaiting"],
)
def test_after_a_kill_the_tool_runs_at_most_once(
    words: list[str],
    points: list[str],
    caller: AgentClient,
    answer: Callable[..., Any],
    tmp_path: Path,
    subtests: pytest.Subtests,
) -> None:
    command = [sys.executable, str(PROGRAM), *words]
    with served("asgi") as origin:
        for point in points:
            with subtests.test(point):
                agent = Agent(command, origin, caller, tmp_path / point)
                if point in ASKING:
                    agent.run(dies=point)
                assert agent.run() == []
                delivery = Delivery.objects.get(thread=f"Testing: {point}")
                answer(delivery)
                if point in RESUMING:
                    assert agent.run(dies=point) == []

                assert told(agent.run()) == [RESUMING.get(point, REFUNDED)]

                assert agent.refunds == [REFUND]
                assert Claim.objects.filter(response__delivery=delivery).count() == 1
                outcomes = {each.status for each in Outcome.objects.filter(delivery=delivery)}
                assert outcomes == (set() if point == "tool" else {"done"})
