"""Runs `wake hook` on recorded inputs of agents, with a server that gives prepared responses."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.process import ignore_signals, type_in
from tests.client.test_sdk import APPROVED, ID, KEY, Server, ok
from wake_client import WakeClient
from wake_client.hook import cli

FIXTURES = {
    path.stem: json.loads(path.read_text())
    for path in Path(__file__).parent.glob("fixtures/*.json")
}
AFTER = {
    path.stem: json.loads(path.read_text())
    for path in Path(__file__).parent.glob("fixtures/after/*.json")
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
    """Runs the hook as an agent does, and returns the JSON that it printed, or None. The server
    does not support claims, unless `extensions` names them. The hook's request for the list of
    extensions is not in the server's `requests`."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        state: Path,
    ) -> None:
        self.monkeypatch, self.capsys, self.state = monkeypatch, capsys, state
        self.extensions: list[str] | httpx.Response = []

    def __call__(
        self, given: Any, server: Server, agent: str, *words: str, **variables: str
    ) -> Any:
        status, printed, errors = self.run(given, server, agent, *words, **variables)
        assert status == 0
        assert errors == "", errors
        return json.loads(printed) if printed else None

    def run(
        self, given: Any, server: Server, agent: str, *words: str, **variables: str
    ) -> tuple[int, str, str]:
        """Returns the exit status, and what was printed on stdout and stderr."""
        text = given if isinstance(given, str) else json.dumps(given)
        type_in(text, self.monkeypatch)
        ignore_signals(self.monkeypatch)

        def answer(request: httpx.Request) -> httpx.Response:
            if request.url.path.rstrip("/") == "/wake/v1":
                known = self.extensions
                return known if isinstance(known, httpx.Response) else ok({"extensions": known})
            return server.answer(request)

        make_client = partial(
            WakeClient,
            transport=httpx.MockTransport(answer),
            sleep=server.sleep,
            now=lambda: server.time,
        )
        variables = {**VARIABLES, "XDG_STATE_HOME": str(self.state), **variables}
        status = cli.main(["--for", agent, *words], variables, make_client=make_client)
        printed = self.capsys.readouterr()
        return status, printed.out, printed.err


def words_for(name: str, folder: Path) -> list[str]:
    return ["--deferring", str(folder / "deferred.json")] if name == DEFERRING else []


def is_without_a_decision(printed: Any, name: str) -> bool:
    """Says whether the agent gets the answer for "no decision". Usually that is no output, so that
    the agent asks in its terminal. Cursor gets "ask". A deferred call is denied, because no
    terminal asks."""
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
