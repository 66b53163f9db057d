"""The snippets of the JavaScript adapters ask people, with the real frameworks. The programs in
connect/ provide the names that a snippet leaves to the reader, such as a scripted model."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Agent as RegisteredAgent
from inbox.agents.connect.snippets import JAVASCRIPT, KINDS, snippets
from tests.client_js.frameworks.agents import installed
from tests.client_js.projects import Project
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from wake.models import Delivery

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.peers]
PROGRAMS = Path(__file__).parent / "connect"
FRAMEWORKS = {
    "ai-sdk": "ai_7",
    "langgraph-js": "langgraph",
    "openai-agents-js": "openai_agents",
    "mastra": "mastra",
}


def test_each_snippet_runs() -> None:
    assert FRAMEWORKS.keys() == {kind.name for kind in KINDS if kind.group == JAVASCRIPT}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_snippet_asks_people(
    name: str,
    project: Project,
    caller: AgentClient,
    agent: RegisteredAgent,
    tmp_path: Path,
    settings: Any,
) -> None:
    folder = installed(FRAMEWORKS[name], project, tmp_path / "project")
    program = Path(shutil.copy(PROGRAMS / f"{name}.mjs", folder))
    with served("asgi") as origin:
        settings.WAKE_ORIGIN = origin
        [text] = [each.text for each in snippets(agent) if each.name == name]
        (folder / "snippet.mjs").write_text(text)
        done = subprocess.run(
            ["node", "--no-warnings", str(program)],  # noqa: S607
            cwd=folder,
            env=project.environment(WAKE_API_KEY=caller.key.text),  # type: ignore[attr-defined]
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    delivery = Delivery.objects.get()
    assert delivery.claimed_agent_id == agent.agent_id
    assert delivery.details["proposal"] == {"order": "A-1042", "cents": 18000}
