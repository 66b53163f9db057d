"""A coding agent connects with what the connect page offers to paste.

The coding agents are not installed here. The tests read the settings as the coding agents would,
and make the requests of the coding agents.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings

from accounts.models import Agent
from tests.inbox.agents.connect.page import Copied, Page, delivered, finished
from tests.types import Answer

FIXTURES = Path(__file__).parents[3] / "client" / "hook" / "fixtures"


def _claude_code(page: Page) -> tuple[str, str]:
    stub = page.folder / "claude"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stub.chmod(0o755)
    path = f"{page.folder}:{page.environment['PATH']}"
    words = page.run("bash", "-euc", page.texts["mcp-claude-code"], PATH=path).splitlines()
    assert words[:5] == ["mcp", "add", "--transport", "http", "wake"]
    assert words[6] == "--header"
    return words[5], words[7].removeprefix("Authorization: ")


def _codex(page: Page) -> tuple[str, str]:
    server = tomllib.loads(page.texts["mcp-codex"])["mcp_servers"]["wake"]
    return server["url"], f"Bearer {page.environment[server['bearer_token_env_var']]}"


def _cursor(page: Page) -> tuple[str, str]:
    server = json.loads(page.texts["mcp-cursor"])["mcpServers"]["wake"]
    key = page.environment["WAKE_API_KEY"]
    return server["url"], server["headers"]["Authorization"].replace("${env:WAKE_API_KEY}", key)


def _vscode(page: Page) -> tuple[str, str]:
    config = json.loads(page.texts["mcp-vscode"])
    [asked], server = config["inputs"], config["servers"]["wake"]
    placeholder, key = f"${{input:{asked['id']}}}", page.environment["WAKE_API_KEY"]
    assert (server["type"], asked["password"]) == ("http", True)
    return server["url"], server["headers"]["Authorization"].replace(placeholder, key)


def _gemini(page: Page) -> tuple[str, str]:
    server = json.loads(page.texts["mcp-gemini"])["mcpServers"]["wake"]
    key = page.environment["WAKE_API_KEY"]
    return server["httpUrl"], server["headers"]["Authorization"].replace("$WAKE_API_KEY", key)


@pytest.mark.parametrize("read", [_claude_code, _codex, _cursor, _vscode, _gemini])
def test_the_instructions_for_a_coding_agent_connect_it(
    copied: Copied, read: Callable[[Page], tuple[str, str]]
) -> None:
    """The coding agents are not installed here. The test reads the settings as the coding agents
    would, and makes their first requests."""
    url, authorization = read(copied())
    headers = {"Authorization": authorization, "Accept": "application/json, text/event-stream"}

    def call(method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        response = httpx.post(url, headers=headers, json=body)
        assert response.status_code == 200, response.text
        return response.json()["result"]

    initialized = call("initialize", protocolVersion="2025-11-25", capabilities={})
    fields = {"type": "update", "headline": "Connected", "summary": "By one line."}
    sent = call("tools/call", name="deliver", arguments=fields)

    assert initialized["serverInfo"]["name"] == "wake"
    assert sent["structuredContent"]["delivery_id"] == str(delivered().pk)


@pytest.mark.parametrize("name", ["mcp-claude", "mcp-chatgpt"])
def test_the_address_for_a_chat_app_asks_it_to_sign_in(copied: Copied, name: str) -> None:
    page = copied()
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    key = {"Authorization": f"Bearer {page.environment['WAKE_API_KEY']}"}

    refused = [httpx.post(page.texts[name], headers=sent, json=listed) for sent in ({}, key)]

    assert [response.status_code for response in refused] == [401, 401]
    for response in refused:
        assert "resource_metadata=" in response.headers["WWW-Authenticate"]


@pytest.fixture
def wake_path(python: str, tmp_path: Path) -> str:
    """Returns a PATH on which `wake` is the client of this checkout."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "wake"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} -m wake_client "$@"\n')
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_claude_desktop_starts_the_bridge(copied: Copied, wake_path: str) -> None:
    page = copied()
    server = json.loads(page.texts["mcp-claude-desktop"])["mcpServers"]["wake"]
    fields = {"type": "update", "headline": "Connected", "summary": "By a program."}
    calls = [("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})]
    calls += [("tools/call", {"name": "deliver", "arguments": fields})]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(calls)
    ]
    words = [server["command"], *server["args"]]

    answers = page.shell(
        f"printf '%s\\n' {shlex.join(lines)} | {shlex.join(words)}", PATH=wake_path
    )

    results = {answer["id"]: answer["result"] for answer in answers}
    assert results[0]["serverInfo"]["name"] == "wake"
    assert results[1]["structuredContent"]["delivery_id"] == str(delivered().pk)


@pytest.mark.parametrize("agent_id", ["research-agent-01", 'it\'s "$(touch x)" <b>'])
def test_the_login_for_claude_desktop_stores_the_key(
    copied: Copied, wake_path: str, agent_id: str
) -> None:
    """The hint used to name `wake login` alone, which needs the server and the agent."""
    Agent.objects.update(agent_id=agent_id)
    page = copied()
    [login] = re.findall("wake login .* (?=once)", page.hints["mcp-claude-desktop"])

    page.run("bash", "-euc", login, PATH=wake_path)

    stored = json.loads((page.folder / ".config" / "wake" / "agents.json").read_text())
    key = page.environment["WAKE_API_KEY"]
    assert stored["agents"] == {agent_id: {"endpoint": settings.WAKE_ORIGIN, "key": key}}


def test_a_permission_prompt_is_answered_by_a_person(
    copied: Copied, answer: Answer, wake_path: str
) -> None:
    page = copied()
    page.run("bash", "-euc", page.texts["hook"], PATH=wake_path)
    settings = json.loads((page.folder / ".claude" / "settings.json").read_text())
    hook = settings["hooks"]["PermissionRequest"][0]["hooks"][0]["command"]
    given = json.loads((FIXTURES / "claude-code-permission-request.json").read_text())["input"]
    words = f"printf %s {shlex.quote(json.dumps(given))} | {hook}"

    # By now only the login knows the key.
    program = page.start("bash", "-euc", words, PATH=wake_path, WAKE_API_KEY="")
    answer(delivered(), "redirected", edited_json='{"command": "npm ci"}')

    decision = json.loads(finished(program))["hookSpecificOutput"]["decision"]
    assert decision == {"behavior": "allow", "updatedInput": {"command": "npm ci"}}


ASKING_AGENT = """
import json, pathlib, sys
call = {"toolCallId": "1", "title": "npm publish", "rawInput": {"command": "npm publish"}}
options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
params = {"sessionId": "s", "toolCall": call, "options": options}
request = {"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params}
print(json.dumps(request), flush=True)
pathlib.Path("told").write_text(sys.stdin.readline())
"""


def test_the_settings_of_an_editor_start_the_proxy(
    copied: Copied, answer: Answer, wake_path: str, python: str
) -> None:
    """Neither the editor nor its agent is installed here. A program stands in for the agent."""
    page = copied()
    [login] = re.findall("wake login .* (?=once)", page.hints["acp"])
    page.run("bash", "-euc", login, PATH=wake_path)
    [server] = json.loads(page.texts["acp"])["agent_servers"].values()
    proxy = server["args"][: server["args"].index("--") + 1]
    words = [server["command"], *proxy, python, "-c", ASKING_AGENT]

    # The pipe stays open, as that of an editor does.
    editor = f"mkfifo editor; exec 3<>editor; {shlex.join(words)} <&3"
    program = page.start("bash", "-euc", editor, PATH=wake_path, WAKE_API_KEY="")
    answer(delivered(), "approved")
    finished(program)

    told = json.loads((page.folder / "told").read_text())
    assert told["result"]["outcome"] == {"outcome": "selected", "optionId": "yes"}
