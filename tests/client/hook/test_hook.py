"""`wake hook` reads the recorded input of each agent, asks people, answers the agent or stays
silent."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.connector.relay import CLIENT
from tests.client.hook.running import (
    DEFERRING,
    FIXTURES,
    PERMISSIONS,
    PLAN,
    REDIRECTED,
    REJECTED,
    VARIABLES,
    WITHDRAWN,
    Hook,
    agent_of,
    asked,
    is_without_a_decision,
    words_for,
)
from tests.client.test_sdk import APPROVED, ID, PENDING, RECEIPT, Server, error, ok
from wake_client.hook.questions import LONGEST_HEADLINE, LONGEST_SUMMARY, MAX_CHARACTERS


@pytest.mark.parametrize("name", PERMISSIONS)
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (APPROVED, "allow"),
        ({**REJECTED, "feedback": "Use npm ci."}, "deny"),
        ({**REDIRECTED, "feedback": "Use npm ci."}, "deny"),
        ({**REDIRECTED, "edited_content": "Use npm ci."}, "deny"),
        ({**REDIRECTED, "edited_content": {"command": "npm ci"}}, "edited"),
    ],
)
def test_a_persons_answer_is_what_the_agent_is_told(
    name: str, answer: Any, told: str, hook: Hook, tmp_path: Path
) -> None:
    server = Server(ok(RECEIPT, 201), ok(answer))

    printed = hook(FIXTURES[name]["input"], server, agent_of(name), *words_for(name, tmp_path))

    assert printed == FIXTURES[name][told]


@pytest.mark.parametrize("name", sorted(FIXTURES))
def test_an_answer_of_a_rule_allows_nothing(name: str, hook: Hook, tmp_path: Path) -> None:
    by_a_rule = {**APPROVED, "responded_by": {"kind": "rule"}}
    server = Server(ok(RECEIPT, 201), ok(by_a_rule))

    printed = hook(FIXTURES[name]["input"], server, agent_of(name), *words_for(name, tmp_path))

    assert is_without_a_decision(printed, name)
    assert len(server.requests) == 2


@pytest.mark.parametrize("name", PERMISSIONS)
def test_a_question_shows_every_argument(name: str, hook: Hook, tmp_path: Path) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED))
    given = FIXTURES[name]["input"]

    hook(given, server, agent_of(name), *words_for(name, tmp_path))

    sent = asked(server)
    assert (sent["type"], sent["agent_id"]) == ("question", "coder")
    assert given.get("session_id", given.get("conversation_id")) in sent["thread"]
    blocks = json.dumps(sent["details"]["blocks"])
    for value in sent["details"]["proposal"].values():
        assert json.dumps(value) in blocks
    assert "shop" in sent["headline"]
    assert len(sent["headline"]) <= LONGEST_HEADLINE
    assert len(sent["summary"]) <= LONGEST_SUMMARY


def test_a_permission_is_named_in_the_headline(hook: Hook) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED))

    hook(FIXTURES["claude-code-permission-request"]["input"], server, "claude-code")

    sent = asked(server)
    assert sent["headline"] == "Run `rm -rf node_modules` in shop?"
    assert sent["summary"] == "Remove node_modules directory"
    assert sent["details"]["blocks"][0] == {
        "type": "code", "language": "sh", "text": "rm -rf node_modules",
    }  # fmt: skip
    assert sent["timeout_seconds"] == 570
    assert sent["on_timeout"] == "hold"


def test_a_long_command_is_cut_in_the_headline_alone(hook: Hook) -> None:
    command = "echo a\n" + "b\u202e" * 200
    given = {
        **FIXTURES["claude-code-permission-request"]["input"],
        "tool_input": {"command": command},
    }
    server = Server(ok(RECEIPT, 201), ok(APPROVED))

    hook(given, server, "claude-code")

    sent = asked(server)
    assert len(sent["headline"]) <= LONGEST_HEADLINE
    assert sent["headline"].endswith("…` in shop?")
    assert sent["headline"].isprintable()
    assert sent["details"]["blocks"][0]["text"] == command


def test_an_equal_call_needs_another_permission(hook: Hook) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED), ok(RECEIPT, 201), ok(APPROVED))
    for _ in range(2):
        hook(FIXTURES["claude-code-permission-request"]["input"], server, "claude-code")

    keys = [request.headers.get("Idempotency-Key") for request in server.requests]
    assert len({key for key in keys if key}) == 2


def test_one_call_is_one_question(hook: Hook) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED), ok(RECEIPT, 201), ok(APPROVED))
    for _ in range(2):
        hook(FIXTURES[PLAN]["input"], server, "claude-code")

    keys = [request.headers.get("Idempotency-Key") for request in server.requests]
    assert len({key for key in keys if key}) == 1


@pytest.mark.parametrize("name", sorted(FIXTURES))
@pytest.mark.parametrize(
    "answers",
    [
        [error(401, "unauthorized")],
        [error(403, "paused")],
        [error(422, "invalid_field")],
        [error(500, "server_error")],
        [httpx.ConnectError("refused")],
        [httpx.Response(200, text="<html>a portal</html>")],
        [ok(RECEIPT, 201), error(401, "unauthorized")],
        [ok(RECEIPT, 201), httpx.ReadTimeout("gone"), ok(WITHDRAWN)],
        [ok(RECEIPT, 201), ok({**APPROVED, "delivery_id": "another"})],
        [ok(RECEIPT, 201), ok({**APPROVED, "status": "granted"})],
        [ok(RECEIPT, 201), ok({**PENDING, "expired": True}), ok(WITHDRAWN)],
    ],
)
def test_nothing_but_an_answer_decides(
    name: str, answers: list[Any], hook: Hook, tmp_path: Path
) -> None:
    for answer in answers:
        if isinstance(answer, httpx.RequestError):
            answer.request = httpx.Request("POST", "https://wake.example.com")

    printed = hook(
        FIXTURES[name]["input"], Server(*answers), agent_of(name), *words_for(name, tmp_path)
    )

    is_deferred = printed is not None and printed == FIXTURES[name].get("defer")
    assert is_deferred or is_without_a_decision(printed, name)


@pytest.mark.parametrize(
    "decision",
    [
        {**APPROVED, "feedback": "Watch the load."},
        {**REDIRECTED, "edited_content": {"command": "npm ci"}, "feedback": "Watch the load."},
    ],
)
@pytest.mark.parametrize("name", ["claude-code-permission-request", "claude-code-pre-tool-use"])
def test_words_beside_an_allowed_call_reach_claude_code(
    name: str, decision: Any, hook: Hook, tmp_path: Path
) -> None:
    server = Server(ok(RECEIPT, 201), ok(decision))

    printed = hook(FIXTURES[name]["input"], server, "claude-code", *words_for(name, tmp_path))

    words = "A person allowed this call and wrote: Watch the load."
    assert printed is not None
    specific = printed["hookSpecificOutput"]
    is_before_tool = name == "claude-code-pre-tool-use"
    assert specific.get("additionalContext") == (words if is_before_tool else None)
    assert printed.get("systemMessage") == (None if is_before_tool else words)
    decided = specific if is_before_tool else specific["decision"]
    edited = {"command": "npm ci"} if decision["status"] == "redirected" else None
    assert decided.get("updatedInput") == edited


def test_codex_gets_no_field_that_it_does_not_know(hook: Hook) -> None:
    """Codex refuses output with unknown fields, and then asks in its terminal."""
    server = Server(ok(RECEIPT, 201), ok({**APPROVED, "feedback": "Watch the load."}))

    printed = hook(FIXTURES["codex-permission-request"]["input"], server, "codex")

    assert printed == FIXTURES["codex-permission-request"]["allow"]


def test_a_question_without_an_answer_is_withdrawn(hook: Hook) -> None:
    expired = {**PENDING, "expired": True}
    server = Server(ok(RECEIPT, 201), ok(expired), ok(WITHDRAWN))

    assert hook(FIXTURES["claude-code-permission-request"]["input"], server, "claude-code") is None

    assert server.requests[-1].url.path == f"/wake/v1/withdraw/{ID}"


def test_an_answer_in_the_last_moment_counts(hook: Hook) -> None:
    expired = {**PENDING, "expired": True}
    server = Server(ok(RECEIPT, 201), ok(expired), error(409, "already_answered"), ok(APPROVED))

    printed = hook(FIXTURES["claude-code-permission-request"]["input"], server, "claude-code")

    assert printed == FIXTURES["claude-code-permission-request"]["allow"]


@pytest.mark.parametrize("name", sorted(FIXTURES))
def test_arguments_that_no_person_could_read_are_denied(name: str, hook: Hook) -> None:
    given = dict(FIXTURES[name]["input"])
    if "command" in given:
        given["command"] = "x" * MAX_CHARACTERS
    else:
        given["tool_input"] = {"content": "x" * MAX_CHARACTERS}
    server = Server(ok(RECEIPT, 201))
    deferring = ["--deferring", "unused"] if name == DEFERRING else []

    printed = json.dumps(hook(given, server, agent_of(name), *deferring))

    assert '"deny"' in printed
    assert "longer than 20,000 characters" in printed
    assert server.requests == []


@pytest.mark.parametrize(
    "given",
    [
        "",
        "{",
        "[]",
        "17",
        "null",
        "{}",
        '{"hook_event_name": "PermissionRequest"}',
        "\x00",
        "x" * 10**6,
    ],
)
@pytest.mark.parametrize("agent", ["claude-code", "codex", "cursor"])
def test_unexpected_input_leaves_the_decision_to_the_agents_prompt(
    given: str, agent: str, hook: Hook
) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED))

    assert is_without_a_decision(hook(given, server, agent), agent)
    assert server.requests == []


@pytest.mark.parametrize("name", sorted(FIXTURES))
@pytest.mark.parametrize("value", [None, 7, [], {}, "", {"a": {"b": [1]}}])
def test_no_damaged_field_allows(name: str, value: Any, hook: Hook) -> None:
    for field in FIXTURES[name]["input"]:
        server = Server(ok(RECEIPT, 201), ok(REJECTED))

        printed = hook({**FIXTURES[name]["input"], field: value}, server, agent_of(name))

        assert "allow" not in json.dumps(printed)


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (["--wait", "soon"], {}),
        (["--unknown"], {}),
        ([], {"WAKE_API_KEY": ""}),
        ([], {"WAKE_ENDPOINT": "http://wake.example.com"}),
        ([], {"WAKE_ENDPOINT": "", "HOME": "/nowhere"}),
    ],
)
def test_a_hook_that_is_set_up_wrongly_is_silent(
    words: list[str], variables: dict[str, str], hook: Hook
) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED))
    given = FIXTURES["claude-code-permission-request"]["input"]

    assert hook(given, server, "claude-code", *words, **variables) is None
    assert server.requests == []


@pytest.mark.parametrize(
    "event", ["SessionStart", "PostToolUse", "Stop", "Notification", "PermissionDenied"]
)
def test_other_events_are_not_for_people(event: str, hook: Hook) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED))
    given = {**FIXTURES["claude-code-permission-request"]["input"], "hook_event_name": event}

    assert hook(given, server, "claude-code") is None
    assert server.requests == []


def test_a_deferred_call_is_asked_once_and_decided_when_it_is_resumed(
    hook: Hook, tmp_path: Path
) -> None:
    fixture = FIXTURES["claude-code-pre-tool-use"]
    words = ["--deferring", str(tmp_path / "state" / "deferred.json")]
    server = Server(ok(RECEIPT, 201), ok(PENDING), ok(PENDING), ok(APPROVED))

    printed = [hook(fixture["input"], server, "claude-code", *words) for _ in range(3)]

    assert printed == [fixture["defer"], fixture["defer"], fixture["allow"]]
    assert [request.method for request in server.requests] == ["POST", "GET", "GET", "GET"]
    assert "timeout_seconds" not in asked(server)


def test_a_deferred_call_whose_question_was_withdrawn_is_asked_again(
    hook: Hook, tmp_path: Path
) -> None:
    fixture = FIXTURES["claude-code-pre-tool-use"]
    words = ["--deferring", str(tmp_path / "deferred.json")]
    again = "650e8400-e29b-41d4-a716-446655440000"
    server = Server(
        ok(RECEIPT, 201),
        ok(PENDING),
        ok({**PENDING, "withdrawn_at": "2026-03-07T09:00:00Z"}),
        ok({**RECEIPT, "delivery_id": again}, 201),
        ok({**APPROVED, "delivery_id": again}),
    )

    printed = [hook(fixture["input"], server, "claude-code", *words) for _ in range(3)]

    assert printed == [fixture["defer"], fixture["defer"], fixture["allow"]]
    assert [request.method for request in server.requests] == ["POST", "GET", "GET", "POST", "GET"]


def test_a_deferred_call_that_a_rule_answered_is_not_deferred_again(
    hook: Hook, tmp_path: Path
) -> None:
    fixture = FIXTURES["claude-code-pre-tool-use"]
    words = ["--deferring", str(tmp_path / "deferred.json")]
    by_a_rule = {**APPROVED, "responded_by": {"kind": "rule"}}
    server = Server(ok(RECEIPT, 201), ok(PENDING), ok(by_a_rule))

    printed = [hook(fixture["input"], server, "claude-code", *words) for _ in range(2)]

    assert printed[0] == fixture["defer"]
    assert printed[1]["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "A rule of the team answered" in json.dumps(printed[1])


def test_a_call_that_is_not_deferred_runs_as_its_settings_say(hook: Hook) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED))

    assert hook(FIXTURES["claude-code-pre-tool-use"]["input"], server, "claude-code") is None
    assert server.requests == []


def test_a_hook_that_is_stopped_ends_at_once_and_silently(tmp_path: Path) -> None:
    given = json.dumps(FIXTURES["claude-code-permission-request"]["input"])
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(60)
    endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
    variables = {**VARIABLES, "WAKE_ENDPOINT": endpoint, "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "wake_client", "hook", "--for", "claude-code"]
    process = subprocess.Popen(
        command, cwd=CLIENT, env={**variables, "HOME": str(tmp_path)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(given)
    process.stdin.close()
    process.stdin = None
    connection, _ = listener.accept()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    connection.close()
    listener.close()

    assert (process.returncode, out, err) == (0, "", "")


def test_every_recorded_input_has_its_source_and_its_date() -> None:
    for fixture in FIXTURES.values():
        assert fixture["source"].startswith("https://")
        assert fixture["read_on"] >= "2026-11-22"
