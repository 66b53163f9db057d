"""A key is in the keyring of the system, where there is one. The library is the real one."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.connector.relay import CLIENT
from tests.client.shell.test_login import PAGE
from tests.client.test_sdk import KEY
from tests.fixtures import peers
from tests.integrity.hook_process import answering
from wake_client.shell.access import access

PEER = Path(__file__).parents[1] / "peers" / "keyring"
pytestmark = [pytest.mark.system, pytest.mark.slow]


ACCEPTED = (200, "application/json", json.dumps(PAGE))


class Machine:
    """Runs `wake` on a machine with a keyring, unless `backend` is another one."""

    def __init__(self, home: Path, *, backend: str = "system_keyring.SystemKeyring") -> None:
        self.home, self.backend = home, backend
        self.keyring = home / "keyring.json"

    def wake(self, *words: str, key: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*peers.command(PEER), *words],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "PYTHONPATH": f"{CLIENT}{os.pathsep}{PEER}",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHON_KEYRING_BACKEND": self.backend,
                "KEYRING_FILE": str(self.keyring),
            },
            input=f"{key}\n",
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def logins(self) -> Any:
        return json.loads((self.home / ".config/wake/agents.json").read_text())

    def lock(self) -> None:
        self.keyring.with_suffix(".locked").touch()


@pytest.fixture
def origin() -> Iterator[str]:
    with answering(ACCEPTED) as origin:
        yield origin


def test_a_key_is_stored_used_and_forgotten(tmp_path: Path, origin: str) -> None:
    machine = Machine(tmp_path)

    done = machine.wake("login", "--endpoint", origin, "--agent", "painter", "--json", key=KEY)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["key_in"] == "keyring"
    assert machine.logins == {
        "default": "painter",
        "agents": {"painter": {"endpoint": origin, "key_in": "keyring"}},
    }
    assert json.loads(machine.keyring.read_text()) == {f"wake-client/painter at {origin}": KEY}
    assert machine.wake("answers").returncode == 0
    assert machine.wake("login", "--agent", "painter", "--remove").returncode == 0
    assert json.loads(machine.keyring.read_text()) == {}
    assert machine.logins["agents"] == {}


def test_a_locked_keyring_is_explained(tmp_path: Path, origin: str) -> None:
    machine = Machine(tmp_path)
    machine.wake("login", "--endpoint", origin, "--agent", "painter", key=KEY)
    machine.lock()

    done = machine.wake("answers")

    assert done.returncode == 2
    assert "painter: the keyring does not give its key: It is locked." in done.stderr


@pytest.mark.parametrize("backend", ["fail", "null"])
def test_without_a_keyring_the_key_is_in_the_file(
    backend: str, tmp_path: Path, origin: str
) -> None:
    machine = Machine(tmp_path, backend=f"keyring.backends.{backend}.Keyring")

    machine.wake("login", "--endpoint", origin, "--agent", "painter", key=KEY)

    assert machine.logins["agents"]["painter"] == {"endpoint": origin, "key": KEY}
    assert machine.wake("answers").returncode == 0


def test_a_keyring_that_is_locked_leaves_the_key_to_the_file(tmp_path: Path, origin: str) -> None:
    machine = Machine(tmp_path)
    machine.lock()

    machine.wake("login", "--endpoint", origin, "--agent", "painter", key=KEY)

    assert machine.logins["agents"]["painter"] == {"endpoint": origin, "key": KEY}


def test_without_the_extra_a_key_of_the_keyring_is_explained(tmp_path: Path) -> None:
    path = tmp_path / ".config/wake/agents.json"
    path.parent.mkdir(parents=True)
    entry = {"endpoint": "https://wake.example.com", "key_in": "keyring"}
    path.write_text(json.dumps({"default": "painter", "agents": {"painter": entry}}))

    with pytest.raises(ValueError, match=r"needs the extra wake-client\[keyring\]"):
        access({"HOME": str(tmp_path)})
