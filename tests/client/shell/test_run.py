"""`wake run`: a session ends at a question, and the answer resumes it.

Claude Code cannot run here. A program that stands in for Claude Code does what the reference of its
hooks describes (https://code.claude.com/docs/en/hooks#defer-a-tool-call-for-later, read on
2026-11-22).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.shell.command import VARIABLES
from tests.client.test_sdk import APPROVED, ID, PENDING, RECEIPT, Server, error, ok
from wake_client import WakeClient
from wake_client.hook.deferred import Deferred, DeferredQuestion
from wake_client.shell import parser
from wake_client.shell.run import without_prompt

CALL: dict[str, Any] = {"id": "toolu_01abc", "name": "Bash", "input": {"command": "npm publish"}}
CLAUDE = """
import json, sys
words = sys.argv[1:]
settings = json.loads(words[words.index("--settings") + 1])
log = open({log!r}, "a")
log.write(json.dumps({{"words": words, "stdin": sys.stdin.read(), "settings": settings}}) + "\\n")
result = {{"type": "result", "subtype": "success", "session_id": "abc123"}}
if "--resume" in words:
    print(json.dumps({{**result, "stop_reason": "end_turn", "result": "Published."}}))
    sys.exit({status})
print("a line of another kind")
print(json.dumps({{**result, "stop_reason": "tool_deferred", "deferred_tool_use": {call!r}}}))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def claude(home: Path, *, status: int = 0) -> list[str]:
    program = home / "claude.py"
    log = str(home / "log")
    program.write_text(CLAUDE.format(log=log, call=CALL, status=status))
    return [sys.executable, str(program), "-p", "Publish it", "--model", "sonnet"]


def run(home: Path, server: Server, command: list[str], *words: str) -> int:
    arguments = parser.parser().parse_args(["run", *words])

    def make_client(*given: Any, **options: Any) -> WakeClient:
        return WakeClient(
            *given, **options, transport=httpx.MockTransport(server.answer), sleep=server.sleep,
            now=lambda: server.time,
        )  # fmt: skip

    variables = {**VARIABLES, "HOME": str(home)}
    return int(arguments.start(arguments, command, variables, make_client=make_client))


def log_of(home: Path) -> list[Any]:
    return [json.loads(line) for line in (home / "log").read_text().splitlines()]


def asked_before(home: Path) -> None:
    """Writes the same state that the hook writes when it defers the call."""
    Deferred(home / ".local/state/wake/deferred.json").remember(
        CALL["id"], DeferredQuestion(ID, "digest")
    )


def test_the_answer_resumes_the_session(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked_before(home)
    server = Server(ok(PENDING), error(503, "unavailable"), ok(APPROVED), takes=25)

    assert run(home, server, claude(home)) == 0

    first, second = log_of(home)
    assert first["words"][:4] == ["-p", "Publish it", "--model", "sonnet"]
    assert second["words"][:5] == ["-p", "--model", "sonnet", "--resume", "abc123"]
    assert first["words"][-2:] == ["--output-format", "json"]
    printed = capfd.readouterr()
    assert printed.out == "Published.\n"
    assert ID in printed.err


def test_a_withdrawn_question_ends_the_run(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked_before(home)
    withdrawn = {**PENDING, "withdrawn_at": "2026-03-07T09:00:00Z"}

    assert run(home, Server(ok(PENDING), ok(withdrawn)), claude(home)) == 18

    assert len(log_of(home)) == 1
    printed = capfd.readouterr().err
    assert "The question was withdrawn, so people are not asked any more." in printed
    assert "with --resume abc123" in printed


def test_the_hook_of_the_session_defers_and_gets_no_key(home: Path) -> None:
    asked_before(home)
    run(home, Server(ok(APPROVED)), claude(home))

    (entry,) = log_of(home)[0]["settings"]["hooks"]["PreToolUse"]
    command = entry["hooks"][0]["command"]
    assert "hook --for claude-code --deferring" in command
    assert "deferred.json" in command
    assert VARIABLES["WAKE_API_KEY"] not in json.dumps(log_of(home))


def test_the_exit_status_is_that_of_the_last_session(home: Path) -> None:
    asked_before(home)

    assert run(home, Server(ok(APPROVED)), claude(home, status=7)) == 7


def test_a_session_can_be_resumed_after_a_restart(home: Path) -> None:
    assert run(home, Server(ok(RECEIPT)), claude(home), "--resume", "abc123") == 0

    (only,) = log_of(home)
    assert only["words"][:5] == ["-p", "--model", "sonnet", "--resume", "abc123"]


def test_a_call_that_was_not_asked_about_is_an_error(home: Path) -> None:
    assert run(home, Server(ok(APPROVED)), claude(home)) == 1


@pytest.mark.parametrize("command", [[], ["claude"], ["/nowhere/claude", "-p", "x"]])
def test_a_command_that_cannot_run_is_named(command: list[str], home: Path) -> None:
    with pytest.raises(ValueError, match="claude"):
        run(home, Server(ok(APPROVED)), command)


@pytest.mark.parametrize(
    ("command", "resumed"),
    [
        (["claude", "-p", "Do it"], ["claude", "-p"]),
        (["claude", "-p", "--model", "x"], ["claude", "-p", "--model", "x"]),
        (["claude", "--model", "x", "--print", "Do it"], ["claude", "--model", "x", "--print"]),
    ],
)
def test_the_prompt_is_given_once(command: list[str], resumed: list[str]) -> None:
    assert without_prompt(command) == resumed
