"""A reader who follows "Try it" on the page of an adapter, word by word, gets an approved refund.

The real frameworks run, with the scripted model of the example. Only the packages are installed
from a lock file, and not by the page.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.client.adapters.site import Site, site
from tests.client.connector.relay import CLIENT
from tests.documents.blocks import documented
from tests.documents.shell import Shell
from tests.fixtures import peers
from wake.models import Claim, Delivery, Outcome

__all__ = ["site"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.peers]
PEERS = Path(__file__).parent / "peers"
# The blocks that start and resume an agent, and what the page says that the second one prints.
PAGES = {
    "claude-agent": (
        documented("docs/adapters/claude-agent.md", "claude_agent.py start"),
        documented("docs/adapters/claude-agent.md", "claude_agent.py resume"),
        documented("docs/adapters/claude-agent.md", "Refunding 180.00"),
    ),
    "crewai": (
        documented("docs/adapters/crewai.md", "crewai.py start"),
        documented("docs/adapters/crewai.md", "crewai.py resume"),
        documented("docs/adapters/crewai.md", "Refunding 180.00"),
    ),
    "google-adk": (
        documented("docs/adapters/google-adk.md", "google_adk.py start"),
        documented("docs/adapters/google-adk.md", "google_adk.py resume"),
        documented("docs/adapters/google-adk.md", "Refunding 180.00"),
    ),
    "langgraph": (
        documented("docs/adapters/langgraph.md", "langgraph.py start"),
        documented("docs/adapters/langgraph.md", "langgraph.py resume"),
        documented("docs/adapters/langgraph.md", "Refunding 180.00"),
    ),
    "openai-agents": (
        documented("docs/adapters/openai-agents.md", "openai_agents.py start"),
        documented("docs/adapters/openai-agents.md", "openai_agents.py resume"),
        documented("docs/adapters/openai-agents.md", "Refunding 180.00"),
    ),
    "pydantic-ai": (
        documented("docs/adapters/pydantic-ai.md", "pydantic_ai.py start"),
        documented("docs/adapters/pydantic-ai.md", "pydantic_ai.py resume"),
        documented("docs/adapters/pydantic-ai.md", "Refunding 180.00"),
    ),
}


def test_each_framework_has_a_page() -> None:
    assert PAGES.keys() == {folder.name for folder in PEERS.iterdir()}


@pytest.mark.parametrize("name", PAGES)
def test_the_first_steps_of_a_page(name: str, site: Site) -> None:
    start, resume, printed = PAGES[name]
    shell = shell_with(peers.environment(PEERS / name) / "bin", site, name)

    assert shell.run(start).endswith("Answer in Wake, then run: resume\n")
    delivery = Delivery.objects.get()
    assert shell.run(resume) == ""
    site.answer(delivery)

    assert shell.run(resume) == printed

    assert Outcome.objects.get(delivery=delivery).status == "done"
    assert Claim.objects.get().response.delivery == delivery
    assert shell.run(resume) == ""


def shell_with(programs: Path, site: Site, name: str) -> Shell:
    """Returns a shell in the folder of the page. `python` is that of the framework."""
    (site.folder / "client").symlink_to(CLIENT)
    folder = site.folder / "try" / name
    folder.mkdir(parents=True)
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "PYTHONPATH": str(CLIENT),
        "WAKE_API_KEY": site.caller.key.text,  # type: ignore[attr-defined]
    }
    instead = {"http://127.0.0.1:8000": site.origin, "my-first-agent": site.caller.agent_id}
    return Shell(folder, environment, instead=instead)
