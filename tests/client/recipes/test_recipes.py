"""The programs of the recipes pause with the real frameworks, people answer on the page, and
another process goes on."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.client.adapters.processes import AWAY, REFUND, Agent
from tests.client.adapters.site import Kind, Site, site
from tests.client.recipes import prefect_runs
from tests.client.recipes.prefect_runs import FlowAgent
from tests.documents.blocks import documented
from tests.fixtures import peers
from wake.models import Claim, Delivery, Outcome
from wake_client.adapters import verdicts

__all__ = ["site"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.peers]
PEERS = Path(__file__).parent / "peers"
EDITED = {"order": "A-1042", "cents": 9_000}
REFUNDED, REFUNDED_LESS = "Refunding 180.00 EUR for A-1042", "Refunding 90.00 EUR for A-1042"


@dataclass(frozen=True)
class Recipe:
    """Names a folder in peers/ and the program of the recipe's page. Where the framework's server
    is no package, a `caller` in that folder plays it."""

    peer: str
    program: str
    has_caller: bool = False

    def __str__(self) -> str:
        return self.peer


RECIPES = [
    Recipe("strands", documented("docs/adapters/strands.md", "import")),
    Recipe("llamaindex", documented("docs/adapters/llamaindex.md", "import")),
    Recipe("agent-framework", documented("docs/adapters/agent-framework.md", "import")),
    Recipe("temporal", documented("docs/adapters/temporal.md", "import"), has_caller=True),
    Recipe("airflow", documented("docs/adapters/airflow.md", "import"), has_caller=True),
]
TEMPORAL = next(each for each in RECIPES if each.peer == "temporal")
PREFECT = Recipe("prefect", documented("docs/adapters/prefect.md", "import"))


class Stage:
    """Has the program of a recipe, and a person who answers it."""

    def __init__(self, recipe: Recipe, site: Site) -> None:
        program = site.folder / "refund.py"
        program.write_text(recipe.program)
        python, caller_of_the_program = peers.command(PEERS / recipe.peer)
        self.command = [python, caller_of_the_program if recipe.has_caller else str(program)]
        self.site, self.answer = site, site.answer

    def agent(self, name: str) -> Agent:
        return self._agent(Agent, name)

    @contextmanager
    def flows(self, name: str) -> Iterator[FlowAgent]:
        """Runs Prefect."""
        agent = self._agent(FlowAgent, name)
        with prefect_runs.running(agent):
            yield agent

    def _agent(self, kind: type[Kind], name: str) -> Kind:
        agent = self.site.agent(kind, self.command, name)
        agent.environment["HOME"] = str(agent.folder)
        return agent

    def start(self, agent: Agent) -> Delivery:
        """Runs the program to its pause, and returns the question."""
        asked = set(Delivery.objects.values_list("pk"))
        assert "Refunding" not in agent.prints("start")
        (delivery,) = [each for each in Delivery.objects.all() if (each.pk,) not in asked]
        return delivery


@pytest.fixture(params=RECIPES, ids=str)
def staged(request: pytest.FixtureRequest, site: Site) -> Stage:
    return Stage(request.param, site)


def test_people_decide_and_another_process_goes_on(
    staged: Stage, age: Callable[..., None], subtests: pytest.Subtests
) -> None:
    people_decide(staged, staged.agent, age, subtests)


@pytest.mark.parametrize("staged", [PREFECT], ids=str, indirect=True)
def test_people_decide_and_a_flow_goes_on(
    staged: Stage, age: Callable[..., None], subtests: pytest.Subtests
) -> None:
    with staged.flows("flows") as agent:
        people_decide(staged, lambda _: agent, age, subtests)

        with subtests.test("resumed by hand before the answer: the flow waits again"):
            delivery = staged.start(agent)
            assert "Refunding" not in agent.resume_by_hand()
            staged.answer(delivery)

            assert agent.prints("resume").count(REFUNDED) == 1


def people_decide(
    staged: Stage,
    agent_of: Callable[[str], Agent],
    age: Callable[..., None],
    subtests: pytest.Subtests,
) -> None:
    with subtests.test("approved: the tool runs once"):
        agent = agent_of("approved")
        delivery = staged.start(agent)
        assert delivery.details["proposal"] == REFUND
        assert "Refunding" not in agent.prints("resume")
        staged.answer(delivery)

        assert agent.prints("resume").count(REFUNDED) == 1

        assert "Refunding" not in agent.prints("resume")
        assert Outcome.objects.get(delivery=delivery).status == "done"
        assert Claim.objects.filter(response__delivery=delivery).count() == 1

    with subtests.test("rejected: the agent reads why"):
        agent = agent_of("rejected")
        delivery = staged.start(agent)
        staged.answer(delivery, "rejected", feedback="Not this customer.")

        said = agent.prints("resume")

        assert "Not this customer." in said
        assert "Refunding" not in said

    with subtests.test("redirected: the tool gets the arguments of the person"):
        agent = agent_of("redirected")
        delivery = staged.start(agent)
        staged.answer(delivery, "redirected", edited_content=json.dumps(EDITED), edited_as="json")

        said = agent.prints("resume")

        assert (said.count(REFUNDED_LESS), said.count(REFUNDED)) == (1, 0)

    with subtests.test("expired: nothing runs"):
        agent = agent_of("expired")
        delivery = staged.start(agent)
        age(delivery, days=2)

        said = agent.prints("resume")

        assert verdicts.EXPIRED in said
        assert "Refunding" not in said


def test_a_program_that_could_not_ask_asks_later(staged: Stage) -> None:
    agent = staged.agent("away")
    agent.fails("start", WAKE_ENDPOINT=AWAY)
    agent.prints("resume")
    staged.answer(Delivery.objects.get())

    assert agent.prints("resume").count(REFUNDED) == 1


def test_a_program_that_is_killed_in_the_tool_does_not_run_it_again(staged: Stage) -> None:
    agent = staged.agent("killed")
    staged.answer(staged.start(agent))
    kill_at_the_refund(agent)

    assert "Refunding" not in agent.prints("resume")

    assert Claim.objects.count() == 1


def kill_at_the_refund(agent: Agent) -> None:
    environment = agent.environment | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*agent.command, "resume"], env=environment, cwd=agent.folder, stdout=PIPE, text=True
    ) as process:
        assert process.stdout
        assert any(REFUNDED in line for line in process.stdout)
        process.kill()


@pytest.mark.parametrize("staged", [TEMPORAL], ids=str, indirect=True)
def test_the_workflow_of_temporal_waits_for_the_answer(staged: Stage) -> None:
    assert staged.agent("replayed").prints("replay") == "Replayed.\n"
