"""The commands that sign in by the browser get a key of a real server, and store it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Agent, ApiKey, User
from tests.accounts.oauth.terminal import connect, refuse
from tests.client.connector.relay import CLIENT
from tests.documents.blocks import documented
from tests.fixtures.terminals import CODE, in_a_terminal, served_at_its_origin
from wake_client import WakeClient

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

WAKE = [sys.executable, "-m", "wake_client"]
PYTHONPATH = {"PYTHONPATH": str(CLIENT)}


def stored(home: Path) -> Any:
    return json.loads((home / ".config/wake/agents.json").read_text())


def test_a_person_signs_in_by_the_code(tmp_path: Path, alice: User, agent: Agent) -> None:
    with served_at_its_origin() as origin:
        script = documented("docs/connect.md", "wake login https://wake.example.com\n")
        words = script.replace("https://wake.example.com", origin).split()[1:]
        with in_a_terminal([*WAKE, *words], home=tmp_path, **PYTHONPATH) as command:
            code = command.expect(CODE)[1]
            command.expect(rf"{origin}/device/\?code={code}")
            connect(alice, code, agent)
            command.expect(rf"{agent.agent_id} is logged in at {origin}")
            assert command.end() == 0
        path = tmp_path / ".config/wake/agents.json"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        login = stored(tmp_path)["agents"][agent.agent_id]
        with WakeClient(login["endpoint"], login["key"], agent_id=agent.agent_id) as client:
            assert client.sweep(limit=1).answers == ()

    assert ApiKey.objects.get().issued_by == alice.display_name


def test_a_person_refuses(tmp_path: Path, alice: User, agent: Agent) -> None:
    with (
        served_at_its_origin() as origin,
        in_a_terminal([*WAKE, "login", origin], home=tmp_path, **PYTHONPATH) as command,
    ):
        refuse(alice, command.expect(CODE)[1])
        command.expect(r"The sign-in was refused in the browser\. \(access_denied\)")
        assert command.end() == 1

    assert not (tmp_path / ".config").exists()
    assert not ApiKey.objects.exists()


def test_the_installation_of_the_hook_offers_it(tmp_path: Path, alice: User, agent: Agent) -> None:
    install = [*WAKE, "hook", "install", "claude-code", "--agent", "coder"]
    with (
        served_at_its_origin() as origin,
        in_a_terminal(install, home=tmp_path, **PYTHONPATH) as command,
    ):
        command.expect("The address of your Wake server")
        command.type(origin)
        connect(alice, command.expect(CODE)[1], agent)
        command.expect("/hooks shows it")
        assert command.end() == 0

    settings = (tmp_path / ".claude/settings.json").read_text()
    assert f"hook --for claude-code --agent {agent.agent_id}" in settings
    assert stored(tmp_path)["default"] == agent.agent_id


def test_the_connector_offers_it_and_finds_the_key_again(
    tmp_path: Path, alice: User, agent: Agent
) -> None:
    with served_at_its_origin() as origin:
        run = [*WAKE, "connect", "--url", origin, "--", "true"]
        with in_a_terminal(run, home=tmp_path, **PYTHONPATH) as command:
            command.expect(f"No key is stored for {origin}.")
            command.type("y")
            connect(alice, command.expect(CODE)[1], agent)
            command.expect("connected")
        with in_a_terminal(run, home=tmp_path, **PYTHONPATH) as command:
            command.expect("connected")
            assert "No key is stored" not in command.screen

    assert ApiKey.objects.count() == 1


def test_control_c_at_the_question_is_quiet(tmp_path: Path) -> None:
    run = [*WAKE, "connect", "--url", "https://wake.example.com", "--", "true"]
    with in_a_terminal(run, home=tmp_path, **PYTHONPATH) as command:
        command.expect("No key is stored")
        command.process.send_signal(2)
        command.expect("wake: stopped")
        assert command.end() == 130
        assert "Traceback" not in command.screen


def test_a_script_is_told_what_to_run(tmp_path: Path) -> None:
    run = [*WAKE, "connect", "--url", "https://wake.example.com", "--", "true"]
    done = subprocess.run(
        run,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **PYTHONPATH},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "run `wake login https://wake.example.com` first" in done.stderr
