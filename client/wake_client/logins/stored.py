"""Stores the access of each agent in a file that only its owner can read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wake_client.files import locked, write_whole
from wake_client.logins import keyrings

KEYRING = "keyring"


@dataclass(frozen=True, slots=True)
class Access:
    """Holds the address of a server, and the key and the id of an agent there."""

    endpoint: str
    key: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class Login:
    """Holds what is stored for one agent. `key` is None if the keyring of the system has it."""

    endpoint: str
    agent_id: str
    key: str | None

    def read_key(self) -> str:
        """Returns the key. Raises ValueError if the keyring does not give it."""
        if self.key is not None:
            return self.key
        return keyrings.get(endpoint=self.endpoint, agent_id=self.agent_id)


@dataclass(slots=True)
class Logins:
    """Holds the stored logins by the id of the agent. `default` is used if no option names an
    agent."""

    agents: dict[str, Login]
    default: str = ""


def path_of_logins(variables: Mapping[str, str]) -> Path:
    folder = variables.get("XDG_CONFIG_HOME") or str(Path(variables.get("HOME", "~")) / ".config")
    return Path(folder).expanduser() / "wake" / "agents.json"


def read_logins(variables: Mapping[str, str]) -> Logins:
    """Returns what `wake login` stored. Raises ValueError for a damaged file."""
    path = path_of_logins(variables)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        agents = {
            agent_id: Login(entry["endpoint"], agent_id, _key(entry))
            for agent_id, entry in content["agents"].items()
        }
        return Logins(agents, str(content.get("default", "")))
    except FileNotFoundError:
        return Logins({})
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged. Remove it and run `wake login` again.") from error


def store_login(access: Access, variables: Mapping[str, str]) -> Login:
    """Stores the access, and makes its agent the default. The key goes to the keyring of the system
    if there is one, else to the file. Raises ValueError if it cannot be stored."""
    path = path_of_logins(variables)
    at = {"endpoint": access.endpoint, "agent_id": access.agent_id}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(path):
            logins = read_logins(variables)
            key = None if keyrings.put(access.key, **at) else access.key
            login = Login(**at, key=key)
            logins.agents[access.agent_id] = login
            logins.default = access.agent_id
            _write(logins, path)
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from error
    return login


def remove_login(agent_id: str, variables: Mapping[str, str]) -> None:
    """Forgets the agent and its key. Raises ValueError if it is not stored."""
    path = path_of_logins(variables)
    if agent_id not in read_logins(variables).agents:
        raise ValueError(f"{agent_id} is not stored in {path}.")
    with locked(path):
        logins = read_logins(variables)
        login = logins.agents.pop(agent_id, None)
        if logins.default == agent_id:
            logins.default = next(iter(logins.agents), "")
        _write(logins, path)
    if login and login.key is None:
        keyrings.remove(endpoint=login.endpoint, agent_id=agent_id)


def _key(entry: Mapping[str, Any]) -> str | None:
    return None if entry.get("key_in") == KEYRING else str(entry["key"])


def _write(logins: Logins, path: Path) -> None:
    """Writes the file with mode 0600, whole or not at all. Raises OSError."""
    content = {
        "default": logins.default,
        "agents": {agent_id: _entry(login) for agent_id, login in logins.agents.items()},
    }
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n", mode=0o600)


def _entry(login: Login) -> dict[str, str]:
    key = {"key_in": KEYRING} if login.key is None else {"key": login.key}
    return {"endpoint": login.endpoint, **key}
