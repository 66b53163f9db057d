"""The snippets of the Python adapters ask people, with the real frameworks. The names that a
snippet leaves to the reader come from the example of the adapter, whose model is scripted."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from django.conf import settings

from tests.client.adapters.processes import REFUND
from tests.fixtures import peers
from tests.inbox.agents.connect.page import Copied
from tests.inbox.agents.connect.test_frameworks import IN_PYTHON
from wake.models import Delivery

pytestmark = pytest.mark.peers
ROOT = Path(settings.BASE_DIR)
# Claude Code has no scripted model.
NEEDS_A_KEY = {"claude-agent"}
QUIET = {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}
YOURS = {
    "langgraph": """
from langgraph.checkpoint.memory import InMemorySaver
model, checkpointer = Scripted(), InMemorySaver()
""",
    "pydantic-ai": "model = FunctionModel(scripted)",
    "openai-agents": """
from agents import set_tracing_disabled
set_tracing_disabled(True)
model = Scripted()
""",
    "crewai": "model, make_refund = Scripted(model='scripted'), refund",
    "google-adk": """
from google.adk.sessions import InMemorySessionService
model, session_service = Scripted(model="scripted"), InMemorySessionService()
message = types.Content(role="user", parts=[types.Part(text="Refund order A-1042.")])
""",
}


def test_each_snippet_runs() -> None:
    assert YOURS.keys() | NEEDS_A_KEY == {kind.name for kind in IN_PYTHON}


@pytest.mark.parametrize("name", YOURS)
def test_a_snippet_asks_people(copied: Copied, name: str) -> None:
    page = copied()
    program = "\n".join([definitions(name), YOURS[name], page.texts[name]])
    (page.folder / "program.py").write_text(program)
    folder = peers.environment(ROOT / "tests" / "client" / "adapters" / "peers" / name)

    page.run(str(folder / "bin" / "python"), "program.py", **QUIET)

    delivery = Delivery.objects.get()
    assert delivery.claimed_agent_id == "research-agent-01"
    assert REFUND.items() <= delivery.details["proposal"].items()


def definitions(name: str) -> str:
    """Returns the imports, classes and functions of an example, without its other statements."""
    path = ROOT / "client" / "examples" / f"refund_with_{name.replace('-', '_')}.py"
    kinds = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef
    nodes = [node for node in ast.parse(path.read_text()).body if isinstance(node, kinds)]
    return "\n".join(map(ast.unparse, nodes))
