"""An approval of a deferred call is for this call alone. The call's session, folder, tool and
arguments have to be complete, and have to be those that people saw."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.hook.running import FIXTURES, PLAN, REDIRECTED, Hook, asked
from tests.client.test_sdk import APPROVED, ID, PENDING, RECEIPT, Server, error, ok
from tests.integrity.hook_process import CALL
from wake_client.hook import calls, questions
from wake_client.hook.deferred import Deferred, DeferredQuestion

ANOTHER = "650e8400-e29b-41d4-a716-446655440000"
# The values are JSON values. A lone surrogate cannot be sent, so it is denied
# (test_deferring_denies).
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
KNOWN = ["command", "content", "old_string", "new_string", "file_path", "description"]


@pytest.fixture
def hook(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Hook:
    return Hook(monkeypatch, capsys, tmp_path_factory.mktemp("state"))


def deferring(folder: Path) -> list[str]:
    return ["--deferring", str(folder / "deferred.json")]


@pytest.mark.parametrize(
    "change",
    [
        {"tool_input": {"command": "npm publish --force"}},
        {"tool_input": {"command": "npm publish", "run_in_background": True}},
        {"tool_input": {"command": "npm publish "}},
        {"session_id": "def456"},
        {"cwd": "/srv/bank"},
        {"tool_name": "PowerShell"},
    ],
)
def test_an_approval_is_not_for_another_call_of_its_id(
    change: Any, hook: Hook, tmp_path: Path
) -> None:
    server = Server(ok(RECEIPT, 201), ok(PENDING), ok(APPROVED))
    hook(CALL, server, "claude-code", *deferring(tmp_path))

    other = hook({**CALL, **change}, server, "claude-code", *deferring(tmp_path))
    same = hook(CALL, server, "claude-code", *deferring(tmp_path))

    decision = other["hookSpecificOutput"]
    assert decision["permissionDecision"] == "deny"
    assert "asked about another call" in decision["permissionDecisionReason"]
    assert same["hookSpecificOutput"]["permissionDecision"] == "allow"


@pytest.mark.parametrize(
    "entry", [ID, {"delivery_id": ID}, {"delivery_id": ID, "digest": None}, None, 7, [ID]]
)
def test_an_entry_without_a_digest_is_asked_again(entry: Any, hook: Hook, tmp_path: Path) -> None:
    """Version 0.2 stored only the id of the delivery, and no digest."""
    (tmp_path / "deferred.json").write_text(json.dumps({CALL["tool_use_id"]: entry}))
    server = Server(
        ok({**RECEIPT, "delivery_id": ANOTHER}, 201), ok({**PENDING, "delivery_id": ANOTHER})
    )

    printed = hook(CALL, server, "claude-code", *deferring(tmp_path))

    assert printed["hookSpecificOutput"]["permissionDecision"] == "defer"
    assert [request.method for request in server.requests] == ["POST", "GET"]


def test_another_call_of_an_id_is_another_question_to_the_server(
    hook: Hook, tmp_path: Path
) -> None:
    """The file with the earlier question may be lost. If the second call had the same
    Idempotency-Key, the server would then return the earlier delivery."""
    keys = set()
    for place, command in enumerate(("npm publish", "npm publish --force")):
        server = Server(ok(RECEIPT, 201), ok(PENDING))
        changed = {**CALL, "tool_input": {"command": command}}
        hook(changed, server, "claude-code", *deferring(tmp_path / str(place)))
        keys.add(server.requests[0].headers["Idempotency-Key"])

    assert len(keys) == 2


def test_an_edit_changes_the_arguments_and_nothing_else(hook: Hook, tmp_path: Path) -> None:
    edit = {"command": "npm pack"}
    server = Server(ok(RECEIPT, 201), ok({**REDIRECTED, "edited_content": edit}))

    printed = hook(CALL, server, "claude-code", *deferring(tmp_path))

    assert printed["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": edit,
    }


def test_a_question_that_cannot_be_remembered_is_taken_back(hook: Hook, tmp_path: Path) -> None:
    (tmp_path / ".deferred.json.lock").mkdir()
    server = Server(ok(RECEIPT, 201), error(503, "unavailable", "60"))

    printed = hook(CALL, server, "claude-code", *deferring(tmp_path))

    assert printed["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert [request.url.path for request in server.requests] == [
        "/wake/v1/deliver",
        f"/wake/v1/withdraw/{ID}",
    ]


def test_processes_that_defer_at_once_lose_no_question(tmp_path: Path) -> None:
    path = tmp_path / "state" / "deferred.json"
    names = [f"toolu_{number}" for number in range(40)]

    with ThreadPoolExecutor(8) as pool:  # each thread opens the file, as a process would
        list(
            pool.map(lambda name: Deferred(path).remember(name, DeferredQuestion(ID, name)), names)
        )

    assert {name: Deferred(path).question_of(name) for name in names} == {
        name: DeferredQuestion(ID, name) for name in names
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {each.name for each in path.parent.iterdir()} == {path.name, f".{path.name}.lock"}


@given(st.dictionaries(st.sampled_from(KNOWN) | TEXTS, VALUES, max_size=6))
def test_every_argument_is_in_a_block_whole(arguments: dict[str, Any]) -> None:
    call = calls.Call("claude-code", "PreToolUse", "abc123", "/srv/shop", "Bash", arguments)

    details = questions.question(call).details

    assert arguments_in(details["blocks"]) == arguments
    assert details["proposal"] == arguments


def arguments_in(blocks: list[Any]) -> dict[str, Any]:
    """Returns the arguments that the blocks show, by the name that each block has."""
    found: dict[str, Any] = {}
    for block in blocks:
        match block:
            case {"type": "code", "language": "sh", "text": text}:
                found["command"] = text
            case {"type": "code", "text": text}:
                found["content"] = text
            case {"type": "diff", "before": before, "after": after}:
                found |= {"old_string": before, "new_string": after}
            case {"type": "kv", "title": "Arguments", "items": items}:
                found |= items
    return found


def test_a_plan_shows_the_permissions_that_it_asks_for(hook: Hook) -> None:
    permissions = [{"tool": "Bash", "prompt": "run any command"}]
    given = {**FIXTURES[PLAN]["input"]}
    given["tool_input"] = {**given["tool_input"], "allowedPrompts": permissions}
    server = Server(ok(RECEIPT, 201), ok(APPROVED))

    hook(given, server, "claude-code")

    (others,) = [
        block
        for block in asked(server)["details"]["blocks"]
        if block.get("title") == "Also in the call"
    ]
    assert others["items"]["allowedPrompts"] == permissions


def test_a_question_of_the_agent_shows_every_member(hook: Hook) -> None:
    questions_asked = [
        {
            "question": "Which?",
            "header": "Price",
            "options": [{"label": "A", "preview": "EUR 90,000"}, {"label": "B"}],
        }
    ]
    given = {**CALL, "tool_name": "AskUserQuestion", "tool_input": {"questions": questions_asked}}
    server = Server(ok(RECEIPT, 201), ok(APPROVED))

    hook(given, server, "claude-code")

    (others,) = [
        block
        for block in asked(server)["details"]["blocks"]
        if block.get("title") == "Also in the call"
    ]
    assert others["items"] == {
        "header of question 1": "Price",
        "preview of option 1 of question 1": "EUR 90,000",
    }


@pytest.mark.parametrize(
    ("agent", "change", "server"),
    [
        ("cursor", {"url": "https://mcp.bank.example/mcp"}, "https://mcp.bank.example/mcp"),
        ("cursor", {"command": "npx bank-mcp --live"}, "npx bank-mcp --live"),
        ("cursor", {"url": "https://a.example", "command": "npx b"}, "https://a.example npx b"),
        ("codex", {"tool_name": "mcp__bank__pay"}, "bank"),
        ("claude-code", {"tool_name": "mcp__bank__pay"}, "bank"),
    ],
)
def test_a_call_of_mcp_names_its_server(agent: str, change: Any, server: str, hook: Hook) -> None:
    name = {
        "cursor": "cursor-before-mcp-execution",
        "codex": "codex-permission-request",
        "claude-code": "claude-code-permission-request",
    }[agent]
    wake = Server(ok(RECEIPT, 201), ok(APPROVED))

    hook({**FIXTURES[name]["input"], **change}, wake, agent)

    where = asked(wake)["details"]["blocks"][-1]
    assert (where["title"], where["items"]["MCP server"]) == ("Where", server)


@pytest.mark.parametrize("linked", ["file", "folder of the file", "folder"])
def test_a_link_that_was_changed_since_the_question_denies(
    linked: str, hook: Hook, tmp_path: Path
) -> None:
    """The person approved a change of the file that the link led to."""
    for name in ("harmless", "secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes.md").touch()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "harmless" / ("notes.md" if linked == "file" else ""))
    path = {"file": "link", "folder of the file": "link/notes.md", "folder": "notes.md"}[linked]
    call = {
        **CALL,
        "cwd": str(link if linked == "folder" else tmp_path),
        "tool_name": "Write",
        "tool_input": {"file_path": path, "content": "a"},
    }
    server = Server(ok(RECEIPT, 201), ok(PENDING), ok(APPROVED), ok(APPROVED))
    hook(call, server, "claude-code", *deferring(tmp_path))

    same = hook(call, server, "claude-code", *deferring(tmp_path))
    link.unlink()
    link.symlink_to(tmp_path / "secret" / ("notes.md" if linked == "file" else ""))
    changed = hook(call, server, "claude-code", *deferring(tmp_path))

    assert same["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert changed["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "another call" in changed["hookSpecificOutput"]["permissionDecisionReason"]
