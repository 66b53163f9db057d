"""`wake login` stores the access of an agent, and the other subcommands use it."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.client.process import type_in
from tests.client.shell.command import wake
from tests.client.test_sdk import APPROVED, ID, KEY, Server, error, ok

PAGE = {"deliveries": [], "total": 0, "has_more": False, "next_since": None}
SERVER = "https://wake.example.com"


def login(home: Path, agent: str, *words: str, server: Server | None = None) -> int:
    words = ("login", "--agent", agent, *words)
    return wake(server or Server(ok(PAGE)), *words, variables={"HOME": str(home)})


@pytest.fixture(autouse=True)
def typed_key(monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(f"{KEY}\n", monkeypatch)


def logins(home: Path) -> Any:
    return json.loads((home / ".config/wake/agents.json").read_text())


def test_a_login_is_stored_for_its_owner_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert login(tmp_path, "painter", "--endpoint", f"{SERVER}/wake/v1") == 0

    path = tmp_path / ".config/wake/agents.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert logins(tmp_path) == {
        "default": "painter",
        "agents": {"painter": {"endpoint": SERVER, "key": KEY}},
    }
    assert KEY not in capsys.readouterr().out


def test_other_subcommands_use_it(tmp_path: Path) -> None:
    login(tmp_path, "painter", "--endpoint", SERVER)
    server = Server(ok(APPROVED))

    assert wake(server, "check", ID, variables={"HOME": str(tmp_path)}) == 0

    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert server.requests[0].url.host == "wake.example.com"


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_stored_key_goes_to_no_other_server(how: str, tmp_path: Path) -> None:
    login(tmp_path, "painter", "--endpoint", SERVER)
    other = "https://other.example.com"
    variables = {"HOME": str(tmp_path)}
    words = ["--endpoint", other] if how == "option" else []
    variables |= {"WAKE_ENDPOINT": other} if how == "environment" else {}

    with pytest.raises(ValueError, match="A key is needed"):
        wake(Server(ok(APPROVED)), "check", ID, *words, variables=variables)


def test_a_key_that_the_server_refuses_is_not_stored(tmp_path: Path) -> None:
    refused = Server(error(401, "unauthorized"))

    assert login(tmp_path, "painter", "--endpoint", SERVER, server=refused) == 3
    assert not (tmp_path / ".config").exists()


def test_agents_are_stored_beside_each_other_and_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login(tmp_path, "painter", "--endpoint", SERVER)
    type_in("wk_live_another\n", monkeypatch)
    login(tmp_path, "writer", "--endpoint", SERVER)

    assert logins(tmp_path)["default"] == "writer"
    assert login(tmp_path, "writer", "--remove") == 0
    assert logins(tmp_path)["default"] == "painter"
    assert list(logins(tmp_path)["agents"]) == ["painter"]
    with pytest.raises(ValueError, match="writer is not stored"):
        login(tmp_path, "writer", "--remove")


@pytest.mark.parametrize("text", ["{", "[]", '{"agents": {"a": {}}}', '{"agents": []}'])
def test_a_damaged_file_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / ".config/wake/agents.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)

    with pytest.raises(ValueError, match=str(path)):
        wake(Server(ok(APPROVED)), "check", ID, variables={"HOME": str(tmp_path)})
    assert path.read_text() == text
