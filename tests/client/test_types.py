"""A program that uses the client gets the types right in every editor."""

from __future__ import annotations

import sys

import pytest

from tests.client import pyright
from tests.client.connector.relay import CLIENT

pytestmark = pytest.mark.system
PACKAGE = CLIENT / "wake_client"
# Their types are checked with their frameworks (tests/client/adapters/test_frameworks.py).
OF_FRAMEWORKS = {
    PACKAGE / "adapters" / f"{name}.py"
    for name in (
        *("claude_agent", "crewai", "google_adk"),
        *("langgraph", "openai_agents", "pydantic_ai"),
    )
}


def test_pyright_finds_no_error() -> None:
    files = sorted(set(PACKAGE.rglob("*.py")) - OF_FRAMEWORKS)

    assert pyright.problems(files, python=sys.executable) == ""
