"""Each adapter of client-js/, with its real framework, a scripted model and a real server: one
process ends at the pause, a person answers, and another process goes on (docs/adapters/)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Agent as RegisteredAgent
from tests.client_js.frameworks.agents import Agent, installed
from tests.client_js.projects import Project, run
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from wake.models import Claim, Delivery, Outcome

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.peers]

# The frameworks that can run a call with other arguments.
TAKES_EDITS = {"langgraph"}
FRAMEWORKS = ["ai_6", "ai_7", "langgraph", "mastra", "openai_agents"]
ASKED, EDITED = "A-1042 18000", "A-1042 9000"
EDIT = '{"order": "A-1042", "cents": 9000}'
MakeAgent = Callable[..., Agent]
Answer = Callable[..., Any]


@pytest.fixture(scope="session")
def projects(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def of(framework: str) -> Path:
        if framework not in made:
            made[framework] = installed(framework, project, tmp_path_factory.mktemp(framework))
        return made[framework]

    return of


@pytest.fixture
def make_agent(
    projects: Callable[[str], Path],
    project: Project,
    caller: AgentClient,
    agent: RegisteredAgent,
    tmp_path: Path,
    framework: str,
) -> Iterator[MakeAgent]:
    """Returns a function that makes an agent on a thread of its own. One server serves all of
    them, because it takes longer to start than a test."""
    with served("asgi") as origin:

        def make(thread: str, *, program: str = "agent.mjs", **environment: str) -> Agent:
            home = tmp_path / thread.replace(" ", "-")
            key = caller.key.text  # type: ignore[attr-defined]
            own = {
                "ORIGIN": origin,
                "KEY": key,
                "AGENT_ID": agent.agent_id,
                "WAKE_ENDPOINT": origin,
                "WAKE_API_KEY": key,
                "WAKE_AGENT_ID": agent.agent_id,
                "THREAD": thread,
                "STORE": str(home / "store"),
                "LEDGER": str(home / "ledger"),
            }
            home.mkdir()
            variables = project.environment(**own, **environment)
            return Agent(projects(framework) / program, variables, home)

        yield make


def asked(thread: str) -> Delivery:
    return Delivery.objects.get(thread__endswith=f": {thread}", withdrawn_at=None)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_each_answer_means_the_same_in_each_framework(
    framework: str, make_agent: MakeAgent, answer: Answer, subtests: pytest.Subtests
) -> None:
    def answered(thread: str, status: str, **words: Any) -> tuple[Agent, str]:
        agent = make_agent(thread)
        assert agent.run("start") == {thread: None}, agent.errors
        answer(asked(thread), status, **words)
        said = agent.run("resume")
        assert said, agent.errors
        assert agent.run("resume") == {}, "The run went on twice."
        return agent, said[thread]

    with subtests.test("approved"):
        agent, said = answered("approved", "approved")
        assert (agent.refunds, said) == ([ASKED], "Refunded 18000 for A-1042.")
        delivery = asked("approved")
        assert Claim.objects.get().response.delivery == delivery
        assert Outcome.objects.get(delivery=delivery).status == "done"
    with subtests.test("rejected, with words"):
        agent, said = answered("rejected", "rejected", feedback="It was paid back last week.")
        assert (agent.refunds, "paid back last week" in said) == ([], True)
    with subtests.test("rejected, without words"):
        agent, said = answered("rejected silently", "rejected")
        assert (agent.refunds, "A person rejected this call." in said) == ([], True)
    with subtests.test("redirected with other arguments"):
        agent, said = answered("edited", "redirected", edited_json=EDIT)
        if framework in TAKES_EDITS:
            assert (agent.refunds, said) == ([EDITED], "Refunded 9000 for A-1042.")
        else:
            assert (agent.refunds, '"cents":9000' in said) == ([], True)
    with subtests.test("redirected with words"):
        agent, said = answered("redirected", "redirected", feedback="Ask the shop first.")
        assert (agent.refunds, "Ask the shop first." in said) == ([], True)
    with subtests.test("expired"):
        agent = make_agent("expired", ON_TIMEOUT="reject")
        agent.run("start")
        past = timezone.now() - timedelta(seconds=1)
        Delivery.objects.filter(pk=asked("expired").pk).update(expires_at=past)
        said = agent.run("resume")["expired"]
        assert (agent.refunds, "No one approved this call" in said) == ([], True)
    with subtests.test("not answered"):
        agent = make_agent("open")
        agent.run("start")
        assert (agent.run("resume"), agent.refunds) == ({}, [])
    with subtests.test("an approved tool fails"):
        agent = make_agent("failing")
        agent.run("start")
        answer(asked("failing"))
        said = agent.run("resume", FAIL="1")["failing"]
        assert (agent.refunds, "The bank refused." in said) == ([ASKED], True)
        outcome = Outcome.objects.get(delivery=asked("failing"))
        assert (outcome.status, outcome.summary) == ("failed", "Error: The bank refused.")
    with subtests.test("the arguments change after the approval"):
        agent = make_agent("changed")
        agent.run("start")
        answer(asked("changed"))
        said = agent.run("resume", TAMPER="1")
        assert agent.refunds == []
        assert said is None or "other arguments than these" in said["changed"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_approval_runs_its_tool_once_after_every_failure(
    framework: str, make_agent: MakeAgent, answer: Answer, subtests: pytest.Subtests
) -> None:
    for step in ("before deliver", "after deliver"):
        with subtests.test("killed while it asks", step=step):
            agent = make_agent(step)
            assert agent.run("start", KILL=step) is None
            assert agent.run("start") == {step: None}, agent.errors
            answer(asked(step))
            assert agent.run("resume")[step] == "Refunded 18000 for A-1042."
            assert agent.refunds == [ASKED]
    for step, said in {
        "before claim": "Refunded 18000 for A-1042.",
        "after claim": "Refunded 18000 for A-1042.",
        "in the tool": "It may have run already.",
        "after outcome": "This call was made before",
    }.items():
        with subtests.test("killed while it runs", step=step):
            agent = make_agent(step)
            agent.run("start")
            answer(asked(step))
            assert agent.run("resume", KILL=step) is None
            again = agent.run("resume")
            assert again, agent.errors
            assert said in again[step]
            assert agent.refunds == [ASKED]
    with subtests.test("the server is away when it asks"):
        agent = make_agent("away")
        assert agent.run("start", AWAY="deliver") is None
        assert "There is no connection." in agent.errors
        agent.run("start")
        answer(asked("away"))
        assert agent.run("resume")["away"] == "Refunded 18000 for A-1042."
    with subtests.test("the server is away when it sweeps"):
        agent = make_agent("away later")
        agent.run("start")
        answer(asked("away later"))
        assert agent.run("resume", AWAY="responses") is None
        assert agent.refunds == []
        assert agent.run("resume")["away later"] == "Refunded 18000 for A-1042."
    with subtests.test("the server is away when it claims"):
        agent = make_agent("away at the claim")
        agent.run("start")
        answer(asked("away at the claim"))
        agent.run("resume", AWAY="claim")
        assert agent.refunds == []
    with subtests.test("the server is away at the end"):
        agent = make_agent("away at the end")
        agent.run("start")
        answer(asked("away at the end"))
        assert agent.run("resume", AWAY="outcome")["away at the end"].startswith("Refunded")
        agent.run("resume")
        assert Outcome.objects.get(delivery=asked("away at the end")).status == "done"
    with subtests.test("two processes go on at the same time"):
        agent = make_agent("twice")
        agent.run("start")
        answer(asked("twice"))
        both = [agent.begin("resume") for _ in range(2)]
        for process in both:
            process.communicate(timeout=120)
        assert agent.refunds == [ASKED]


@pytest.mark.parametrize("framework", ["langgraph"])
def test_a_node_of_ones_own_asks_people(
    framework: str, make_agent: MakeAgent, answer: Answer, subtests: pytest.Subtests
) -> None:
    for thread, status, words, said, refunds in [
        ("approved", "approved", {}, "Refunded 18000 for A-1042.", [ASKED]),
        ("rejected", "rejected", {"feedback": "No."}, "No.", []),
        ("edited", "redirected", {"edited_json": EDIT}, "Refunded 9000 for A-1042.", [EDITED]),
    ]:
        with subtests.test(thread):
            agent = make_agent(thread, program="node.mjs")
            agent.run("start")
            answer(asked(thread), status, **words)
            assert agent.run("resume") == {thread: said}
            assert agent.run("resume") == {}
            assert agent.refunds == refunds
    with subtests.test("the node asks about one call, and makes another"):
        agent = make_agent("changed", program="node.mjs")
        agent.run("start")
        answer(asked("changed"))
        assert "other arguments than these" in agent.run("resume", TAMPER="1")["changed"]
        assert agent.refunds == []


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_types_fit(framework: str, projects: Callable[[str], Path], project: Project) -> None:
    types = ["--typeRoots", str(project.workshop / "node_modules" / "@types"), "--types", "node"]
    module = ["--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom"]
    # The types of the frameworks themselves do not all compile.
    options = ["--strict", "--noEmit", "--skipLibCheck"]

    run([project.tool("tsc"), *options, *module, *types, "typed.mts"], projects(framework))
