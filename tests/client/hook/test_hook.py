"""`wake hook` from the recorded input of each agent: what people are asked, what the agent is told,
and silence."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.connector.relay import CLIENT
from tests.client.test_sdk import APPROVED, ID, KEY, PENDING, RECEIPT, Server, error, ok
from wake_client import WakeClient
from wake_client.hook import cli
from wake_client.hook.questions import LONGEST_HEADLINE, LONGEST_SUMMARY, MOST_CHARACTERS

FIXTURES = {
    path.stem: json.loads(path.read_text()) for path in Path(__file__).parent.glob("fixtures/*")
}
PERMISSIONS = sorted(name for name, fixture in FIXTURES.items() if "allow" in fixture)
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
        assert printed.err == ""
        return json.loads(printed.out) if printed.out else None


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hook:
    return Hook(monkeypatch, capsys)


def words_for(name: str, folder: Path) -> list[str]:
    is_deferring = name == "claude-code-pre-tool-use"
    return ["--deferring", str(folder / "deferred.json")] if is_deferring else []


def asked(server: Server) -> Any:
    return json.loads(server.requests[0].content)


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

    assert printed is None or printed == FIXTURES[name].get("defer")


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
    """It refuses output with unknown fields, and then asks in its terminal."""
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
        given["command"] = "x" * MOST_CHARACTERS
    else:
        given["tool_input"] = {"content": "x" * MOST_CHARACTERS}
    server = Server(ok(RECEIPT, 201))
    deferring = ["--deferring", "unused"] if name == "claude-code-pre-tool-use" else []

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
def test_unexpected_input_is_silence(given: str, agent: str, hook: Hook) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED))

    assert hook(given, server, agent) is None
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


def test_a_question_of_the_agent_is_a_choice_each(hook: Hook) -> None:
    edit = {"question-0": "1", "question-1": ["0", "2"]}
    server = Server(ok(RECEIPT, 201), ok({**REDIRECTED, "edited_content": edit}))

    printed = hook(FIXTURES[ASK]["input"], server, "claude-code")

    blocks = asked(server)["details"]["blocks"]
    assert [(block["name"], block["multiple"]) for block in blocks[:2]] == [
        ("question-0", False),
        ("question-1", True),
    ]
    assert blocks[0]["options"][0] == {"id": "0", "label": "React", "text": "Known to the team."}
    given = printed["hookSpecificOutput"]
    assert given["permissionDecision"] == "allow"
    assert given["updatedInput"] == {
        **FIXTURES[ASK]["input"]["tool_input"],
        "answers": {"Which framework?": "Vue", "Which pages?": "Cart, Login"},
    }


def test_checkboxes_without_a_tick_are_no_answer(hook: Hook) -> None:
    edit = {"question-0": "1", "question-1": None}
    server = Server(ok(RECEIPT, 201), ok({**REDIRECTED, "edited_content": edit}))

    printed = hook(FIXTURES[ASK]["input"], server, "claude-code")

    answers = printed["hookSpecificOutput"]["updatedInput"]["answers"]
    assert answers == {"Which framework?": "Vue", "Which pages?": "No answer"}


@pytest.mark.parametrize(
    ("answer", "behavior", "words"),
    [
        ({**REDIRECTED, "feedback": "Svelte."}, "deny", "Svelte."),
        ({**REJECTED, "feedback": "Later."}, "deny", "Later."),
        (APPROVED, None, ""),
        ({**REDIRECTED, "edited_content": {"question-0": "1"}}, None, ""),
        ({**REDIRECTED, "edited_content": {"question-0": "9", "question-1": []}}, None, ""),
        ({**REDIRECTED, "edited_content": {"question-0": None, "question-1": []}}, None, ""),
    ],
)
def test_a_question_without_all_options_is_not_allowed(
    answer: Any, behavior: str | None, words: str, hook: Hook
) -> None:
    printed = hook(FIXTURES[ASK]["input"], Server(ok(RECEIPT, 201), ok(answer)), "claude-code")

    if behavior is None:
        assert printed is None
    else:
        assert printed["hookSpecificOutput"]["permissionDecision"] == behavior
        assert printed["hookSpecificOutput"]["permissionDecisionReason"] == words


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (APPROVED, {"permissionDecision": "allow"}),
        (
            {**REDIRECTED, "edited_content": {"plan": "revise"}, "feedback": "Test first."},
            {"permissionDecision": "deny", "permissionDecisionReason": "Test first."},
        ),
        (
            {**REDIRECTED, "edited_content": {"plan": "revise"}},
            {
                "permissionDecision": "deny",
                "permissionDecisionReason": "A person wants you to keep planning.",
            },
        ),
    ],
)
def test_a_plan_is_approved_or_goes_back(answer: Any, told: Any, hook: Hook) -> None:
    server = Server(ok(RECEIPT, 201), ok(answer))

    printed = hook(FIXTURES[PLAN]["input"], server, "claude-code")["hookSpecificOutput"]

    if told["permissionDecision"] == "allow":
        assert printed.pop("updatedInput") == FIXTURES[PLAN]["input"]["tool_input"]
    assert printed == {"hookEventName": "PreToolUse", **told}
    assert asked(server)["details"]["blocks"][0]["text"].startswith("## Refactor auth")


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
