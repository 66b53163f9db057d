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

from tests.client.connector.relay import CLIENT
from wake_client.version import __version__

SOURCES = sorted((CLIENT / "wake_client").rglob("*.py"))
README = (CLIENT / "README.md").read_text()


def test_it_depends_on_two_packages_one_to_verify_and_not_on_the_server() -> None:
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    named = {re.split(r"[<>=]", one)[0] for one in project["dependencies"]}

    imported = {
        (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else name.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }

    assert named == {"httpx", "websockets"}
    assert project["version"] == __version__
    others = imported - sys.stdlib_module_names - {"wake_client"}
    assert project["optional-dependencies"] == {"verify": ["cryptography>=42"]}
    packages = {one.split(".")[0] for one in others} - sys.stdlib_module_names
    assert packages == named | {"cryptography"}


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
    script = re.search(r"```sh\n(#!/bin/sh\n.*?)```", README, re.S)
    assert script
    agent.write_text(script[1])
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
