"""The snippets of the adapters name what exists. The adapters' own tests run them with the real
frameworks (tests/client/adapters, tests/client_js/frameworks)."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from django.conf import settings

from inbox.agents.connect.snippets import JAVASCRIPT, KINDS, PYTHON, Snippet
from tests.inbox.agents.connect.test_snippets import EXAMPLES

ROOT = Path(settings.BASE_DIR)
IN_PYTHON = [kind for kind in KINDS if kind.group == PYTHON]
IN_JAVASCRIPT = [kind for kind in KINDS if kind.group == JAVASCRIPT]


def text_of(kind: Snippet) -> str:
    return (EXAMPLES / f"{kind.name}.txt").read_text()


@pytest.mark.parametrize("kind", IN_PYTHON, ids=lambda kind: kind.name)
def test_a_python_snippet_imports_what_the_client_has(kind: Snippet) -> None:
    imports = {
        node.module: [alias.name for alias in node.names]
        for node in ast.walk(ast.parse(text_of(kind)))
        if isinstance(node, ast.ImportFrom) and node.module and "wake_client" in node.module
    }

    adapter = f"wake_client.adapters.{kind.name.replace('-', '_')}"
    assert set(imports) == {"wake_client", "wake_client.adapters", adapter}
    # Without its framework, an adapter cannot be imported.
    source = ROOT.joinpath("client", *adapter.split(".")).with_suffix(".py").read_text()
    defined = {getattr(node, "name", "") for node in ast.parse(source).body}
    assert set(imports.pop(adapter)) <= defined
    for module, names in imports.items():
        assert all(hasattr(importlib.import_module(module), name) for name in names)


@pytest.mark.parametrize("kind", IN_PYTHON, ids=lambda kind: kind.name)
def test_the_hint_names_an_extra_of_the_client(kind: Snippet) -> None:
    project = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())["project"]

    [extra] = re.findall(r'"\./client\[(.+?)\]"', kind.hint)

    assert extra in project["optional-dependencies"]


@pytest.mark.parametrize("kind", IN_JAVASCRIPT, ids=lambda kind: kind.name)
def test_a_javascript_snippet_imports_what_the_client_has(kind: Snippet) -> None:
    exports = json.loads((ROOT / "client-js" / "package.json").read_text())["exports"]
    imports = re.findall(r'import \{ (.+?) \} from "wake-client(.*?)"', text_of(kind))

    assert len(imports) == 4
    for names, entry in imports:
        built = exports[f".{entry}"]
        source = ROOT.joinpath("client-js", built.replace("dist", "src")).with_suffix(".ts")
        exported = re.findall(
            r"export (?:(?:async )?function|class|const) (\w+)|export \{(.+?)\}",
            source.read_text(), re.DOTALL,
        )  # fmt: skip
        known = re.findall(r"\w+", " ".join(" ".join(each) for each in exported))
        assert set(names.split(", ")) <= set(known), (entry, names)


@pytest.mark.parametrize("kind", IN_JAVASCRIPT, ids=lambda kind: kind.name)
def test_a_javascript_snippet_can_be_parsed(kind: Snippet, node: str, tmp_path: Path) -> None:
    program = tmp_path / "program.mjs"
    program.write_text(text_of(kind))

    done = subprocess.run([node, "--check", str(program)], capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
