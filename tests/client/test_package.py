"""The package has few dependencies, and the examples of its README work."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.client.connector.relay import CLIENT
from tests.documents.blocks import documented
from wake_client.version import __version__

SOURCES = sorted((CLIENT / "wake_client").rglob("*.py"))
README = (CLIENT / "README.md").read_text()
PEERS = Path(__file__).parent / "adapters" / "peers"


# The packages that the module of an adapter imports, by its extra.
FRAMEWORKS = {
    "crewai": {"crewai", "pydantic"},
    "google-adk": {"google"},
    "langgraph": {"langchain", "langchain_core", "langgraph"},
    "pydantic-ai": {"pydantic", "pydantic_ai"},
    "openai-agents": {"agents"},
    "claude-agent": {"claude_agent_sdk"},
}


def _imports(node: ast.AST) -> list[str]:
    """Returns the modules that a statement, or a call of `import_module`, names."""
    match node:
        case ast.ImportFrom(module=module):
            return [module or ""]
        case ast.Import(names=names):
            return [one.name for one in names]
        case ast.Call(func=ast.Name("import_module"), args=[ast.Constant(value=str(name))]):
            return [name]
    return []


def test_it_depends_on_two_packages_and_each_extra_on_its_own() -> None:
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    named = {re.split(r"[<>=]", one)[0] for one in project["dependencies"]}

    imported = {
        name.split(".")[0]
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        for name in _imports(node)
    }

    assert named == {"httpx", "websockets"}
    assert project["version"] == __version__
    assert project["optional-dependencies"].keys() == {"verify", "keyring", *FRAMEWORKS}
    others = imported - sys.stdlib_module_names - {"wake_client"}
    assert others == named | {"cryptography", "keyring"}.union(*FRAMEWORKS.values())


@pytest.mark.parametrize("extra", FRAMEWORKS)
def test_the_client_can_be_installed_beside_the_framework(extra: str) -> None:
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    lock = (PEERS / extra / "requirements.lock").read_text()
    locked = dict(re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.M))

    for one in map(Requirement, project["dependencies"] + project["optional-dependencies"][extra]):
        version = locked.get(one.name)
        assert version is None or one.specifier.contains(version), f"{one} and {version}"


def test_no_file_is_longer_than_400_lines() -> None:
    assert max(len(path.read_text().splitlines()) for path in SOURCES) <= 400


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```", README, re.S | re.M))
def test_the_readme_imports_names_that_exist(block: str) -> None:
    tree = ast.parse(block)

    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "wake_client":
            exec(compile(ast.Module([node], []), "README.md", "exec"), {})  # noqa: S102


@pytest.mark.parametrize(
    ("decision", "state"),
    [("", "input_required"), ("approved", "completed"), ("redirected", "completed")],
)
def test_the_readmes_agent_asks_and_completes(tmp_path: Path, decision: str, state: str) -> None:
    agent = tmp_path / "agent.sh"
    agent.write_text(documented("client/README.md", "#!/bin/sh"))
    agent.chmod(0o755)

    done = subprocess.run(
        [str(agent)],
        input=json.dumps({"taskId": "t-1", "message": {}}),
        env={"PATH": os.environ["PATH"], "WAKEUP_DECISION": decision},
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout)["state"] == state
