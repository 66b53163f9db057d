"""A reader who follows "Try it" on the page of an adapter, word by word, gets an approved refund.

The real frameworks run, with the scripted model of the example. Only the packages are installed
from a lock file, and not by the page.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Agent
from tests.client_js.frameworks.agents import installed
from tests.client_js.projects import Project
from tests.documents.blocks import documented
from tests.documents.shell import Shell
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from wake.models import Claim, Delivery, Outcome

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.peers]
# The blocks that start and resume an agent, and what the page says that the second one prints.
PAGES = {
    "ai_7": (
        documented("docs/adapters/ai-sdk.md", "ai-sdk.mjs start"),
        documented("docs/adapters/ai-sdk.md", "ai-sdk.mjs resume"),
        documented("docs/adapters/ai-sdk.md", "ticket-7: Refunded"),
    ),
    "langgraph": (
        documented("docs/adapters/langgraph-js.md", "langgraph.mjs start"),
        documented("docs/adapters/langgraph-js.md", "langgraph.mjs resume"),
        documented("docs/adapters/langgraph-js.md", "ticket-7: Refunded"),
    ),
    "mastra": (
        documented("docs/adapters/mastra.md", "mastra.mjs start"),
        documented("docs/adapters/mastra.md", "mastra.mjs resume"),
        documented("docs/adapters/mastra.md", "ticket-7: Refunded"),
    ),
    "openai_agents": (
        documented("docs/adapters/openai-agents-js.md", "openai-agents.mjs start"),
        documented("docs/adapters/openai-agents-js.md", "openai-agents.mjs resume"),
        documented("docs/adapters/openai-agents-js.md", "ticket-7: Refunded"),
    ),
}


@pytest.mark.parametrize("framework", PAGES)
def test_the_first_steps_of_a_page(
    framework: str,
    project: Project,
    caller: AgentClient,
    agent: Agent,
    answer: Callable[..., Any],
    tmp_path: Path,
    settings: Any,
) -> None:
    settings.WAKE_HOLD_SECONDS = 0
    start, resume, printed = PAGES[framework]
    folder = installed(framework, project, tmp_path / "try")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "WAKE_API_KEY": caller.key.text,  # type: ignore[attr-defined]
    }
    with served("asgi") as origin:
        instead = {"http://127.0.0.1:8000": origin, "my-first-agent": agent.agent_id}
        shell = Shell(folder, environment, instead=instead)
        assert shell.run(start) == "ticket-7 waits for people.\n"
        delivery = Delivery.objects.get()
        assert shell.run(resume) == ""
        answer(delivery)

        assert shell.run(resume) == printed

        assert Outcome.objects.get(delivery=delivery).status == "done"
        assert Claim.objects.get().response.delivery == delivery
        assert shell.run(resume) == ""
