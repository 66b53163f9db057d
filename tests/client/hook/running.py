"""Runs `wake hook` on recorded inputs of agents, with a server that gives prepared responses."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.test_sdk import APPROVED, ID, KEY, Server
from wake_client import WakeClient
from wake_client.hook import cli

FIXTURES = {
    path.stem: json.loads(path.read_text()) for path in Path(__file__).parent.glob("fixtures/*")
}
PERMISSIONS = sorted(name for name, fixture in FIXTURES.items() if "allow" in fixture)
DEFERRING = "claude-code-pre-tool-use"
ASK, PLAN = "claude-code-ask-user-question", "claude-code-exit-plan-mode"
VARIABLES = {
    "WAKE_ENDPOINT": "https://wake.example.com",
    "WAKE_API_KEY": KEY,
    "WAKE_AGENT_ID": "coder",
}
REJECTED = {**APPROVED, "status": "rejected"}
REDIRECTED = {**APPROVED, "status": "redirected"}
WITHDRAWN = {
    "delivery_id": ID,
    "status": "withdrawn",
    "withdrawn_at": "2026-03-07T09:00:00Z",
    "reason": "x",
}


def agent_of(name: str) -> str:
    return name.split("-")[0] if not name.startswith("claude") else "claude-code"


class Hook:
    """Runs the hook as an agent does and returns what it printed as JSON, or None."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(
        self, given: Any, server: Server, agent: str, *words: str, **variables: str
    ) -> Any:
        text = given if isinstance(given, str) else json.dumps(given)
        self.monkeypatch.setattr("sys.stdin", io.StringIO(text))
        self.monkeypatch.setattr("signal.signal", lambda *ignored: None)
        make_client = partial(
            WakeClient,
            transport=httpx.MockTransport(server.answer),
            sleep=server.sleep,
            now=lambda: server.time,
        )
        status = cli.main(
            ["--for", agent, *words], {**VARIABLES, **variables}, make_client=make_client
        )
        printed = self.capsys.readouterr()
        assert status == 0
        assert printed.err == "", printed.err
        return json.loads(printed.out) if printed.out else None


def words_for(name: str, folder: Path) -> list[str]:
    return ["--deferring", str(folder / "deferred.json")] if name == DEFERRING else []


def is_without_a_decision(printed: Any, name: str) -> bool:
    """Returns whether the agent is told what it is told without a person's answer: nothing, so that
    its terminal asks; Cursor to ask; and a deferred call is denied, because no terminal asks."""
    if name == DEFERRING:
        decision = printed["hookSpecificOutput"]
        return (
            decision["permissionDecision"] == "deny"
            and bool(decision["permissionDecisionReason"])
            and len(decision) == 3
        )
    return bool(printed == ({"permission": "ask"} if agent_of(name) == "cursor" else None))


def asked(server: Server) -> Any:
    return json.loads(server.requests[0].content)
