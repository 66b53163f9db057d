"""`wake hook install` and `uninstall` change their own lines of settings and no others."""

from __future__ import annotations

import json
import shlex
import stat
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.client.test_sdk import KEY
from wake_client.hook import cli
from wake_client.hook.calls import AGENTS
from wake_client.hook.claims import NO_LIST

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "cursor": ".cursor/hooks.json",
}
OTHER: dict[str, Any] = {
    "claude-code": {
        "model": "größer",
        "hooks": {
            "PermissionRequest": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "./own.sh"}]}
            ],
            "Stop": [],
        },
    },
    "codex": {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}},
    "cursor": {"version": 1, "hooks": {"beforeShellExecution": [{"command": "./own.sh"}]}},
}


def wake_hook(home: Path, *words: str) -> int:
    return cli.main(list(words), {"HOME": str(home)})


def written(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.parametrize("agent", AGENTS)
def test_it_is_added_to_what_is_there_and_removed_again(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / FILES[agent]
    path.parent.mkdir()
    path.write_text(json.dumps(OTHER[agent], indent=2, ensure_ascii=False) + "\n")
    path.chmod(0o640)
    before = path.read_text()

    assert wake_hook(tmp_path, "install", agent) == 0

    printed = capsys.readouterr().out
    assert f"hook --for {agent}" in path.read_text()
    assert f"+++ {path}" in printed
    assert not [line for line in printed.splitlines() if line.startswith("-") and "own.sh" in line]
    assert "./own.sh" in path.read_text() or agent == "codex"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640

    assert wake_hook(tmp_path, "uninstall", agent) == 0
    assert path.read_text() == before


@pytest.mark.parametrize("agent", AGENTS)
def test_to_install_twice_changes_nothing(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wake_hook(tmp_path, "install", agent)
    first = (tmp_path / FILES[agent]).read_text()
    capsys.readouterr()

    wake_hook(tmp_path, "install", agent)

    assert (tmp_path / FILES[agent]).read_text() == first
    assert "nothing to change" in capsys.readouterr().out


def test_a_project_has_settings_of_its_own(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()

    wake_hook(tmp_path, "install", "claude-code", "--project", str(project))

    settings = written(project / ".claude/settings.json")
    command = settings["hooks"]["PermissionRequest"][0]["hooks"][0]
    assert command == {"type": "command", "command": "wake hook --for claude-code", "timeout": 600}
    assert settings["hooks"]["PreToolUse"][0]["matcher"] == "AskUserQuestion|ExitPlanMode"
    assert not (tmp_path / ".claude").exists()


def test_the_wait_and_the_login_can_be_chosen(tmp_path: Path) -> None:
    wake_hook(tmp_path, "install", "claude-code", "--project", str(tmp_path))
    words = ["--wait", "60", "--agent", "it's me"]
    wake_hook(tmp_path, "install", "claude-code", "--project", str(tmp_path), *words)

    (entry,) = written(tmp_path / ".claude/settings.json")["hooks"]["PermissionRequest"]
    (command,) = entry["hooks"]
    assert shlex.split(command["command"]) == [
        "wake", "hook", "--for", "claude-code", "--wait", "60", "--agent", "it's me",
    ]  # fmt: skip
    assert command["timeout"] == 90


@pytest.mark.parametrize("seconds", ["0", "soon", "604801"])
def test_a_wait_that_is_no_time_is_refused(seconds: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        wake_hook(tmp_path, "install", "codex", "--wait", seconds)
    assert not (tmp_path / ".codex").exists()


def test_a_dry_run_only_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert wake_hook(tmp_path, "install", "codex", "--dry-run") == 0

    assert "hook --for codex" in capsys.readouterr().out
    assert not (tmp_path / ".codex/hooks.json").exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// a comment"]
)
def test_settings_that_cannot_be_read_stay_as_they_are(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / FILES["claude-code"]
    path.parent.mkdir()
    path.write_text(text)

    assert wake_hook(tmp_path, "install", "claude-code") == 1

    assert path.read_text() == text
    assert str(path) in capsys.readouterr().err


def test_a_link_to_the_settings_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / "dotfiles.json").write_text("{}")
    (tmp_path / FILES["claude-code"]).symlink_to(tmp_path / "dotfiles.json")

    wake_hook(tmp_path, "install", "claude-code")

    assert (tmp_path / FILES["claude-code"]).is_symlink()
    assert "hook --for" in (tmp_path / "dotfiles.json").read_text()


def test_a_link_to_settings_that_are_not_there_yet_is_followed(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / FILES["codex"]).symlink_to(tmp_path / "dotfiles/codex.json")

    assert wake_hook(tmp_path, "install", "codex") == 0

    assert (tmp_path / FILES["codex"]).is_symlink()
    assert "hook --for" in (tmp_path / "dotfiles/codex.json").read_text()


def test_entries_of_an_unknown_shape_stay(tmp_path: Path) -> None:
    path = tmp_path / FILES["claude-code"]
    path.parent.mkdir()
    hooks = {"PermissionRequest": [None, 5, {"hooks": "own"}, {"hooks": [None]}], "Stop": [None]}
    path.write_text(json.dumps({"hooks": hooks}))

    wake_hook(tmp_path, "install", "claude-code")
    assert written(path)["hooks"]["Stop"] == [None]
    wake_hook(tmp_path, "uninstall", "claude-code")

    assert written(path) == {"hooks": hooks}


@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_a_project_that_is_not_there_is_an_error(
    action: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "misspelt"

    assert wake_hook(tmp_path, action, "codex", "--project", str(project)) == 1

    assert f"{project} is not a folder." in capsys.readouterr().err
    assert not project.exists()


def test_the_doctor_goes_on_after_settings_that_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wake_hook(tmp_path, "install", "cursor")
    (tmp_path / ".claude").mkdir()
    (tmp_path / FILES["claude-code"]).write_text("// a comment")
    capsys.readouterr()

    assert wake_hook(tmp_path, "doctor") == 1

    printed = capsys.readouterr().out
    assert "claude-code: cannot be read: " in printed
    assert "cursor: installed" in printed
    assert "access: " in printed


def test_the_doctor_says_where_it_is_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wake_hook(tmp_path, "install", "cursor")
    capsys.readouterr()

    assert wake_hook(tmp_path, "doctor") == 1  # the doctor fails, because there is no key

    printed = capsys.readouterr()
    assert "cursor: installed" in printed.out
    assert "codex: not installed" in printed.out
    assert "wake login" in printed.out


class _Handler(BaseHTTPRequestHandler):
    """Answers a sweep, and has no list of extensions."""

    def do_GET(self) -> None:
        is_sweep = self.path.startswith("/wake/v1/responses")
        body = b'{"deliveries": [], "total": 0, "has_more": false, "next_since": null}'
        self.send_response(200 if is_sweep else 404)
        self.end_headers()
        self.wfile.write(body if is_sweep else b"Not here.")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Writes no line to stderr."""


def test_the_doctor_says_that_the_list_of_extensions_is_hidden(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wake_hook(tmp_path, "install", "cursor")
    capsys.readouterr()
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{server.server_port}"
        access = {"WAKE_ENDPOINT": origin, "WAKE_API_KEY": KEY, "WAKE_AGENT_ID": "coder"}

        status = cli.main(["doctor"], {"HOME": str(tmp_path), **access})

        server.shutdown()
    printed = capsys.readouterr().out
    assert status == 0
    assert "access: the key works" in printed
    assert f"claims: {NO_LIST.format(status=404)}" in printed


def test_everything_can_be_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> Any:
        wake_hook(tmp_path, *words, "--json")
        return json.loads(capsys.readouterr().out)

    first, again = printed("install", "codex"), printed("install", "codex")
    found = printed("doctor")
    removed = printed("uninstall", "codex")

    assert [each["changed"] for each in (first, again, removed)] == [True, False, True]
    assert "hook --for codex" in first["diff"]
    assert found["installed"] == ["codex"]
    assert "wake login" in found["problem"]


def test_cursor_blocks_a_call_whose_hook_crashes(tmp_path: Path) -> None:
    """Otherwise Cursor runs the call although the hook crashed
    (https://cursor.com/docs/agent/hooks, read on 2026-11-25)."""
    wake_hook(tmp_path, "install", "cursor")

    hooks = written(tmp_path / FILES["cursor"])["hooks"]
    before = [hooks[event][0] for event in ("beforeShellExecution", "beforeMCPExecution")]
    assert [entry["failClosed"] for entry in before] == [True, True]


@pytest.mark.parametrize(
    ("agent", "events"),
    [
        ("claude-code", ["PostToolUse", "PostToolUseFailure"]),
        ("cursor", ["afterShellExecution", "afterMCPExecution"]),
    ],
)
def test_the_hook_after_a_call_is_installed(agent: str, events: list[str], tmp_path: Path) -> None:
    wake_hook(tmp_path, "install", agent, "--agent", "coder")

    hooks = written(tmp_path / FILES[agent])["hooks"]
    for event in events:
        (entry,) = hooks[event]
        (run,) = entry.get("hooks", [entry])
        assert run["command"].endswith(f"hook --for {agent} --agent coder --report")
        assert run["timeout"] == 30
