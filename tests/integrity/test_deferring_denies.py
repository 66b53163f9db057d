"""With `wake run` no terminal asks. Only a person's approval lets a call through. Every other
outcome, including no answer in time, denies the call and gives the reason.

Each test starts the hook as Claude Code does (https://code.claude.com/docs/en/hooks, read on
2026-11-25): a status of 2 blocks the call, but any other failure or an empty output lets the call
through.
"""

from __future__ import annotations

import json
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import Agent, ApiKey
from tests.client.test_sdk import APPROVED, KEY, PENDING, RECEIPT
from tests.integrity.hook_process import (
    CALL,
    answering,
    command,
    decision,
    deferred_file,
    environment,
    run_hook,
)
from tests.types import Answer
from tests.wake.server.up import eventually
from wake.models import Delivery
from wake_client.logins.stored import Access
from wake_client.shell import parser, run

JSON = "application/json"
CREATED = (201, JSON, json.dumps(RECEIPT))
PORTAL = (200, "text/html", "<html>Sign in to the network</html>")


def is_denied(decided: dict[str, str], reason: str) -> bool:
    is_deny = decided.get("permissionDecision") == "deny"
    return is_deny and reason in decided["permissionDecisionReason"]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def test_a_server_that_is_away_denies(tmp_path: Path) -> None:
    endpoint = f"http://127.0.0.1:{closed_port()}"

    decided = run_hook(tmp_path, endpoint, KEY, "--wait", "0.1")

    assert is_denied(decided, "could not be reached")


@pytest.mark.system
def test_a_bad_key_denies(live_server: LiveServer, tmp_path: Path) -> None:
    decided = run_hook(tmp_path, live_server.url, KEY)

    assert is_denied(decided, "unauthorized")


@pytest.mark.system
def test_a_spent_quota_denies(live_server: LiveServer, key: ApiKey, tmp_path: Path) -> None:
    ApiKey.objects.filter(pk=key.pk).update(quota_us=int((time.time() + 3600) * 1_000_000))

    decided = run_hook(tmp_path, live_server.url, key.text, "--wait", "0.1")  # type: ignore[attr-defined]

    assert is_denied(decided, "rate_limited")
    assert not Delivery.objects.exists()


@pytest.mark.system
def test_a_paused_agent_denies(
    live_server: LiveServer, agent: Agent, key: ApiKey, tmp_path: Path
) -> None:
    agent.paused_at = agent.created_at
    agent.save(update_fields=["paused_at"])

    decided = run_hook(tmp_path, live_server.url, key.text)  # type: ignore[attr-defined]

    assert is_denied(decided, "paused")


@pytest.mark.parametrize("text", ["{", "[]", "\x00\xff", '{"a": '])
def test_a_file_of_questions_that_is_damaged_denies(text: str, tmp_path: Path) -> None:
    path = deferred_file(tmp_path)
    path.parent.mkdir()
    path.write_text(text, encoding="latin-1")

    with answering(CREATED, (200, JSON, json.dumps(APPROVED))) as origin:
        decided = run_hook(tmp_path, origin, KEY)

    assert is_denied(decided, str(path))


def test_logins_that_cannot_be_read_deny(tmp_path: Path) -> None:
    (tmp_path / ".config" / "wake" / "agents.json").mkdir(parents=True)

    with answering(CREATED, (200, JSON, json.dumps(APPROVED))) as origin:
        decided = run_hook(tmp_path, origin, KEY)

    assert is_denied(decided, "agents.json cannot be read")


def test_a_full_disk_denies(tmp_path: Path) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    with answering(CREATED, (200, JSON, json.dumps(APPROVED))) as origin:
        decided = run_hook(tmp_path, origin, KEY, preexec_fn=no_room)

    assert is_denied(decided, "File too large")


@pytest.mark.parametrize(
    "answers",
    [
        [PORTAL],
        [(200, JSON, "{}")],
        [(201, JSON, "[]")],
        [(302, JSON, "")],
        [(500, "text/html", "<h1>oops</h1>")],
        [CREATED, PORTAL],
        [CREATED, (200, JSON, json.dumps({**APPROVED, "status": "granted"}))],
        [CREATED, (200, JSON, json.dumps({**APPROVED, "delivery_id": "another"}))],
        [CREATED, (404, JSON, json.dumps({"error": {"code": "not_found", "message": "No."}}))],
        [CREATED, (200, JSON, "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"))],
    ],
)
def test_an_answer_that_is_not_the_servers_denies(
    answers: list[tuple[int, str, str]], tmp_path: Path
) -> None:
    with answering(*answers) as origin:
        decided = run_hook(tmp_path, origin, KEY, "--wait", "0.1")

    assert is_denied(decided, "Wake has no answer of a person")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({**APPROVED, "responded_by": {"kind": "rule"}}, "A rule of the team answered"),
        ({**APPROVED, "responded_by": {"kind": "robot"}}, "A rule of the team answered"),
        ({**APPROVED, "status": "redirected"}, "neither approved the call nor changed it"),
    ],
)
def test_an_answer_that_no_person_gave_or_that_says_nothing_denies(
    answer: Any, reason: str, tmp_path: Path
) -> None:
    with answering(CREATED, (200, JSON, json.dumps(answer))) as origin:
        assert is_denied(run_hook(tmp_path, origin, KEY), reason)


@contextmanager
def silent_server() -> Iterator[socket.socket]:
    """Yields a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        yield listener


def origin_of(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_server_that_never_answers_denies_before_claude_code_gives_up(tmp_path: Path) -> None:
    with silent_server() as listener:
        decided = run_hook(tmp_path, origin_of(listener), KEY, "--within", "2")

    assert is_denied(decided, "within 2 seconds")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_hook_that_is_stopped_denies(number: signal.Signals, tmp_path: Path) -> None:
    with silent_server() as listener:
        process = subprocess.Popen(
            command(tmp_path), env=environment(tmp_path, origin_of(listener), KEY), cwd=tmp_path,
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(CALL))
        process.stdin.close()
        process.stdin = None
        connection, _ = listener.accept()
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
        connection.close()

    done = subprocess.CompletedProcess(process.args, process.returncode, out, errors)
    assert is_denied(decision(done), "the hook was stopped")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("", "Expecting value"),
        ("{", "Expecting"),
        ("[]", "not an object"),
        ("{}", "hook_event_name"),
        ('{"a": 1, "a": 2}', "two members of one name"),
        ("[" * 100_000, "recursion"),
        ({**CALL, "tool_input": None}, "tool_input"),
        ({**CALL, "tool_use_id": None}, "without an id"),
        ({**CALL, "permission_mode": "bypassPermissions"}, "Permissions are bypassed"),
        ({**CALL, "tool_input": {"command": "x" * 20_000}}, "longer than 20,000 characters"),
        ({**CALL, "tool_name": "AskUserQuestion", "tool_input": {}}, "no questions"),
        ({**CALL, "tool_input": {"command": "\ud800"}}, "Wake has no answer"),
    ],
)
def test_a_call_that_cannot_be_asked_about_denies(given: Any, reason: str, tmp_path: Path) -> None:
    with answering(CREATED, (200, JSON, json.dumps(APPROVED))) as origin:
        assert is_denied(run_hook(tmp_path, origin, KEY, given=given), reason)


@pytest.mark.parametrize("words", [["--wait", "soon"], ["--unknown"], ["--endpoint"], ["--for=x"]])
def test_a_hook_that_is_set_up_wrongly_denies(words: list[str], tmp_path: Path) -> None:
    assert is_denied(run_hook(tmp_path, "http://127.0.0.1:9", KEY, *words), "")


def test_a_hook_for_another_agent_cannot_defer(tmp_path: Path) -> None:
    with answering(CREATED, (200, JSON, json.dumps(APPROVED))) as origin:
        decided = run_hook(tmp_path, origin, KEY, "--for", "codex")

    assert is_denied(decided, "Only calls of Claude Code")


def test_a_decision_that_cannot_be_printed_blocks(tmp_path: Path) -> None:
    with answering(CREATED, (200, JSON, json.dumps(APPROVED))) as origin:
        done = subprocess.run(
            ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command(tmp_path)],
            env=environment(tmp_path, origin, KEY),
            input=json.dumps(CALL),
            cwd=tmp_path,
            text=True,
            capture_output=True,
            check=False,
        )

    assert done.returncode == 2


@pytest.mark.parametrize(
    "breaks",
    [
        pytest.param(lambda text: text.replace(" -m wake_client", " -m missing"), id="not there"),
        pytest.param(lambda text: "sh -c 'kill -9 $$' " + text, id="killed"),
        pytest.param(lambda text: "/nowhere/" + text, id="no python"),
    ],
)
def test_a_hook_that_cannot_be_started_blocks(
    breaks: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs the command of the settings that `wake run` gives to Claude Code."""
    # The settings name another command on a machine with an installed `wake`.
    monkeypatch.setattr("shutil.which", lambda name: None)
    arguments = parser.parser().parse_args(["run"])
    settings = run._settings(arguments, deferred_file(tmp_path), Access("http://x", KEY, "coder"))
    (entry,) = settings["hooks"]["PreToolUse"][0]["hooks"]

    done = subprocess.run(
        ["/bin/sh", "-c", breaks(entry["command"])],
        input=json.dumps(CALL), env=environment(tmp_path, "http://127.0.0.1:9", KEY),
        text=True, capture_output=True, check=False,
    )  # fmt: skip

    assert is_denied(decision(done), "")
    assert entry["onFailure"] == "block"


CLAUDE = """#!/bin/sh
echo "$*" >> {log}
echo '{{"type": "result", "session_id": "abc123", "stop_reason": "tool_deferred",
"deferred_tool_use": {{"id": "toolu_01abc"}}}}' | tr -d '\\n'
"""


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((401, JSON, json.dumps({"error": {"code": "unauthorized", "message": "No."}})), 3),
        (PORTAL, 1),
        ((200, JSON, json.dumps({**PENDING, "delivery_id": "another"})), 1),
    ],
)
def test_a_wait_that_fails_does_not_resume_the_session(
    answer: tuple[int, str, str], status: int, tmp_path: Path
) -> None:
    with answering(answer) as origin:
        process = started_run(tmp_path, origin)
        process.communicate(timeout=60)

    assert process.returncode == status
    assert len((tmp_path / "log").read_text().splitlines()) == 1


def test_a_wait_that_is_interrupted_does_not_resume_the_session(tmp_path: Path) -> None:
    with silent_server() as listener:
        process = started_run(tmp_path, origin_of(listener))
        connection, _ = listener.accept()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        connection.close()

    assert process.returncode == 130
    assert len((tmp_path / "log").read_text().splitlines()) == 1


def started_run(home: Path, origin: str) -> subprocess.Popen[str]:
    """Starts `wake run` with a program that ended at a call and asked people about it."""
    program = home / "claude"
    program.write_text(CLAUDE.format(log=home / "log"))
    program.chmod(0o755)
    path = home / ".local" / "state" / "wake" / "deferred.json"
    path.parent.mkdir(parents=True)
    entry = {"delivery_id": RECEIPT["delivery_id"], "digest": "d"}
    path.write_text(json.dumps({"toolu_01abc": entry}))
    words = [command(home)[0], "-m", "wake_client", "run", "--", str(program), "-p", "Publish it"]
    return subprocess.Popen(
        words, env=environment(home, origin, KEY), cwd=home, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.parametrize(
    "words", [["--dangerously-skip-permissions"], ["--permission-mode", "bypassPermissions"]]
)
def test_a_session_without_permissions_is_not_started(words: list[str], tmp_path: Path) -> None:
    arguments = parser.parser().parse_args(["run"])

    with pytest.raises(ValueError, match="bypassed"):
        run.start(arguments, ["claude", "-p", "x", *words], environment(tmp_path, "http://x", KEY))


@pytest.mark.system
def test_only_the_approval_of_a_person_allows(
    live_server: LiveServer, key: ApiKey, answer: Answer, tmp_path: Path
) -> None:
    first = run_hook(tmp_path, live_server.url, key.text)  # type: ignore[attr-defined]
    answer(eventually(Delivery.objects.first), "approved")

    second = run_hook(tmp_path, live_server.url, key.text)  # type: ignore[attr-defined]

    decided = [each["permissionDecision"] for each in (first, second)]
    assert decided == ["defer", "allow"]
