"""The real frameworks pause, people answer on the page, and another process goes on.

A framework is a folder in peers/, with a caller.py of two steps (docs/adapters/README.md). All
frameworks pass the same scenarios.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.client import pyright
from tests.client.adapters.processes import AWAY, OTHER, REFUND, Agent, told
from tests.client.adapters.site import Site, site
from tests.client.connector.relay import CLIENT
from tests.documents.blocks import documented
from tests.fixtures import peers
from wake.models import Claim, Delivery, Outcome
from wake_client.adapters import verdicts

__all__ = ["site"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.peers]
PEERS = Path(__file__).parent / "peers"
EDITED = {"order": "A-1042", "cents": 9_000}
# The points at which the first process is killed.
ASKING = ("before deliver", "after deliver")
# The points at which the second process is killed, and whether the tool has run then.
RESUMING = {
    "before responses": False,
    "before claim": False,
    "after claim": False,
    "tool": True,
    "before outcome": True,
    "after outcome": True,
    "model": True,
}
# Some kinds of agent of a framework differ only in how they pause.
FEW = ("before deliver", "after claim", "tool", "model")


@dataclass(frozen=True)
class Framework:
    """Names a folder in peers/ and the words after the step. `edits` says whether the framework
    can replace arguments, and `several` whether its model makes several calls in one turn. The
    processes are killed at `points`."""

    peer: str
    words: tuple[str, ...] = ()
    edits: bool = True
    several: bool = True
    points: tuple[str, ...] = (*ASKING, *RESUMING)

    def __str__(self) -> str:
        return "-".join([self.peer, *self.words])

    @property
    def command(self) -> list[str]:
        return peers.command(PEERS / self.peer)


FRAMEWORKS = [
    Framework("crewai", points=FEW, several=False),
    Framework("google-adk"),
    Framework("langgraph", ("per_call",)),
    Framework("langgraph", ("batched",), points=FEW),
    Framework("langgraph", ("async",), points=FEW),
    Framework("langgraph", ("graph",), points=FEW, several=False),
    Framework("pydantic-ai"),
    Framework("openai-agents", edits=False),
    Framework("openai-agents", ("nested",), edits=False, points=FEW),
    Framework("claude-agent", several=False),
]


# The first kind of agent of each framework.
ONE = {each.peer: each for each in reversed(FRAMEWORKS)}
# The blocks of each framework's page.
BLOCKS = [
    ("langgraph", documented("docs/adapters/langgraph.md", "create_agent(")),
    ("langgraph", documented("docs/adapters/langgraph.md", "def refund_node")),
    ("pydantic-ai", documented("docs/adapters/pydantic-ai.md", "AgentApprovals(agent")),
    ("openai-agents", documented("docs/adapters/openai-agents.md", "RunApprovals(agent")),
]


class Stage:
    """Has the agents of one framework, and a person who answers them."""

    def __init__(self, framework: Framework, site: Site) -> None:
        self.framework, self.site, self.answer = framework, site, site.answer

    def agent(self, name: str, command: list[str] | None = None) -> Agent:
        return self.site.agent(Agent, command or self.framework.command, name)

    def start(self, agent: Agent, **environment: str) -> list[Delivery]:
        """Runs the agent to its pause, and returns the questions."""
        agent.run("start", *self.framework.words, **environment)
        return self.questions(agent)

    def questions(self, agent: Agent) -> list[Delivery]:
        deliveries = Delivery.objects.filter(thread__regex=f"[ /]{agent.folder.name}$")
        return list(deliveries.order_by("created_at"))

    def resume(self, agent: Agent, **environment: str) -> list[str]:
        """Runs the second process, and returns what the model was told."""
        return told(agent.run("resume", *self.framework.words, **environment))


@pytest.fixture(params=FRAMEWORKS, ids=str)
def staged(request: pytest.FixtureRequest, site: Site) -> Stage:
    return Stage(request.param, site)


def test_people_decide_and_another_process_goes_on(
    staged: Stage, age: Callable[..., None], subtests: pytest.Subtests
) -> None:
    with subtests.test("approved: the tool runs once"):
        agent = staged.agent("approved")
        (delivery,) = staged.start(agent)
        assert delivery.details["proposal"] == REFUND
        assert staged.resume(agent) == []
        staged.answer(delivery)

        assert staged.resume(agent) == ["Refunded 18000."]

        assert staged.resume(agent) == []
        assert agent.refunds == [REFUND]
        assert Outcome.objects.get(delivery=delivery).status == "done"

    with subtests.test("rejected: the model reads why"):
        agent = staged.agent("rejected")
        (delivery,) = staged.start(agent)
        staged.answer(delivery, "rejected", feedback="Not this customer.")

        (words,) = staged.resume(agent)

        assert "Not this customer." in words
        assert agent.refunds == []

    with subtests.test("redirected: the tool gets the arguments of the person"):
        agent = staged.agent("redirected")
        (delivery,) = staged.start(agent)
        edit = json.dumps(EDITED)
        staged.answer(delivery, "redirected", edited_content=edit, edited_as="json")

        (words,) = staged.resume(agent)

        assert agent.refunds == ([EDITED] if staged.framework.edits else [])
        assert ("Refunded 9000." if staged.framework.edits else "9000") in words

    with subtests.test("redirected to what the tool does not accept: nothing runs"):
        agent = staged.agent("unacceptable")
        (delivery,) = staged.start(agent)
        edit = json.dumps({"order": "A-1042", "euros": 90})
        staged.answer(delivery, "redirected", edited_content=edit, edited_as="json")

        assert len(staged.resume(agent)) == 1

        assert agent.refunds == []

    with subtests.test("expired: nothing runs"):
        agent = staged.agent("expired")
        (delivery,) = staged.start(agent, REJECTING="1")
        age(delivery, seconds=90)

        (words,) = staged.resume(agent)

        assert verdicts.EXPIRED in words
        assert agent.refunds == []

    with subtests.test("changed arguments: nothing runs"):
        agent = staged.agent("changed")
        (delivery,) = staged.start(agent)
        staged.answer(delivery)

        (words,) = staged.resume(agent, CHANGED="1")

        assert verdicts.ANOTHER_CALL in words
        assert agent.refunds == []
        assert not Claim.objects.filter(response__delivery=delivery).exists()

    if staged.framework.several:
        with subtests.test("several calls: the run goes on when all are answered"):
            agent = staged.agent("several")
            agent.calls = [REFUND, OTHER]
            one, other = staged.start(agent)
            staged.answer(one)
            assert staged.resume(agent) == []
            staged.answer(other, "rejected", feedback="Later.")

            refunded, later = sorted(staged.resume(agent), key="Refunded 18000.".__ne__)

            assert (refunded, "Later." in later) == ("Refunded 18000.", True)
            assert agent.refunds == [REFUND]

    with subtests.test("the server is away: nothing runs, and nothing is lost"):
        agent = staged.agent("away")
        agent.fails("start", *staged.framework.words, WAKE_ENDPOINT=AWAY)
        (delivery,) = staged.start(agent)
        staged.answer(delivery)
        agent.fails("resume", *staged.framework.words, WAKE_ENDPOINT=AWAY)
        assert agent.refunds == []

        assert staged.resume(agent) == ["Refunded 18000."]


def test_a_process_that_is_killed_asks_once_and_runs_the_tool_at_most_once(
    staged: Stage, subtests: pytest.Subtests
) -> None:
    for point in staged.framework.points:
        with subtests.test(point):
            agent = staged.agent(point)
            if point in ASKING:
                agent.run("start", *staged.framework.words, dies=point)
            (delivery,) = staged.start(agent)
            staged.answer(delivery)
            has_run = RESUMING.get(point, False)
            if point in RESUMING:
                agent.run("resume", *staged.framework.words, dies=point)
                assert agent.refunds == ([REFUND] if has_run else [])

            (words,) = staged.resume(agent)

            possible = {verdicts.MAY_HAVE_RUN, verdicts.USED} if has_run else set()
            assert words in possible | {"Refunded 18000."}
            assert agent.refunds == [REFUND]
            assert len(staged.questions(agent)) == 1
            assert Claim.objects.filter(response__delivery=delivery).count() == 1


@pytest.mark.parametrize(
    ("staged", "block"), [(ONE[peer], block) for peer, block in BLOCKS], indirect=["staged"]
)
def test_a_block_of_the_documents_asks_people(staged: Stage, block: str) -> None:
    command = peers.command(PEERS / staged.framework.peer, "documented")
    agent = staged.agent("documented", command)

    agent.run(block.replace("support-agent", staged.site.caller.agent_id))

    assert Delivery.objects.get().details["proposal"] == REFUND


@pytest.mark.parametrize("peer", sorted({framework.peer for framework in FRAMEWORKS}))
def test_the_adapter_fits_the_types_of_its_framework(peer: str) -> None:
    python = peers.command(PEERS / peer)[0]
    module = f"wake_client.adapters.{peer.replace('-', '_')}"
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file="]  # not that of the server

    done = subprocess.run(
        [*mypy, "--python-executable", python, "-m", module],
        cwd=CLIENT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    (file,) = CLIENT.glob(f"{module.replace('.', '/')}.py")
    assert pyright.problems([file], python=python) == ""
