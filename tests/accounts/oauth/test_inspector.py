"""The command line of the MCP Inspector signs in by OAuth at the real server, with a browser that
comes back to the person's own machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from accounts.models import Agent, ApiKey, OAuthGrant, User
from tests.accounts.oauth.consenting import Consent, served_at_its_origin
from tests.accounts.oauth.test_official_sdks import PEERS, UPDATE, end_access_token, end_grant
from tests.fixtures.peers import environment
from wake.mcp.tools import TOOLS
from wake.models import Delivery

pytestmark = [pytest.mark.peers, pytest.mark.django_db(transaction=True)]
PROGRAM = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
ADDRESS = re.compile(r"http://\S+/oauth/authorize\?\S+")
CALL = ["--method", "tools/call", "--tool-name"]


@dataclass
class Inspector:
    """Runs the Inspector's command, which keeps its tokens in a folder."""

    origin: str
    home: Path
    consent: Consent

    def run(self, *options: str) -> Any:
        """Returns what the command prints. Plays the person if the command opens a browser."""
        with self._started(*options) as process:
            assert process.stdout
            text = ""
            for line in process.stdout:
                if address := ADDRESS.search(line):
                    assert httpx.get(self.consent.give(address[0]), timeout=60).status_code == 200
                text = line if line.startswith("{") else text
        assert text, options
        return json.loads(text)

    def _started(self, *options: str) -> subprocess.Popen[str]:
        program = environment(PEERS / "inspector") / PROGRAM
        server = [f"{self.origin}/mcp/people", "--transport", "http", "--format", "json"]
        server += ["--connect-timeout", "60000"]  # milliseconds, for a busy machine
        command = ["node", str(program), "--cli", *server, "--quiet", *options]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={
                **os.environ,
                "HOME": str(self.home),
                "BROWSER": "true",  # a program that opens nothing
                "MCP_AUTO_OPEN_ENABLED": "true",
                "MCP_INSPECTOR_SECRET_STORE": "file",
                "MCP_OAUTH_CALLBACK_URL": "http://127.0.0.1:33998/oauth/callback",
            },
        )


def test_the_inspector_signs_in(alice: User, agent: Agent, tmp_path: Path) -> None:
    with served_at_its_origin("asgi") as origin:
        inspector = Inspector(origin, tmp_path, Consent(alice, agent))

        listed = inspector.run("--method", "tools/list")
        assert [tool["name"] for tool in _result(listed)["tools"]] == list(TOOLS)
        assert OAuthGrant.objects.get().client_host == "this computer"

        update = ["--tool-args-json", json.dumps(UPDATE)]
        sent = inspector.run("--stored-auth-only", *CALL, "deliver", *update)
        assert not _result(sent).get("isError")
        assert Delivery.objects.get().agent_id == agent.pk

        digest = ApiKey.objects.get().digest
        end_access_token()
        read = inspector.run("--stored-auth-only", *CALL, "answers")
        assert not _result(read).get("isError")
        assert ApiKey.objects.get().digest != digest

        end_grant()
        refused = inspector.run("--stored-auth-only", *CALL, "answers")
        assert refused["error"]["code"] == "auth_required"

        again = inspector.run("--relogin", *CALL, "answers")
        assert not _result(again).get("isError")


def _result(printed: Any) -> Any:
    assert "result" in printed, printed
    return printed["result"]
