"""Finds the server, the key and the agent of a command, in its options, in the environment, or from
`wake login`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wake_client.files import write_whole
from wake_client.http import addresses

NO_SERVER = (
    "The server's address is needed: run `wake login`, set WAKE_ENDPOINT, or use --endpoint."
)


@dataclass(frozen=True, slots=True)
class Access:
    """Holds the address of a server, and the key and the id of an agent there."""

    endpoint: str
    key: str
    agent_id: str


@dataclass(slots=True)
class Logins:
    """Holds the stored access of each agent, by its id. `default` is used if no option names an
    agent."""

    agents: dict[str, Access]
    default: str = ""


def path_of_logins(variables: Mapping[str, str]) -> Path:
    folder = variables.get("XDG_CONFIG_HOME") or str(Path(variables.get("HOME", "~")) / ".config")
    return Path(folder).expanduser() / "wake" / "agents.json"


def access(variables: Mapping[str, str], *, endpoint: str = "", agent_id: str = "") -> Access:
    """Returns the access of a command. Raises ValueError if there is no address or no key.

    A stored key is sent only to the server that it was stored for.
    """
    logins = read_logins(variables)
    agent_id = agent_id or variables.get("WAKE_AGENT_ID", "") or logins.default
    stored = logins.agents.get(agent_id)
    endpoint = endpoint or variables.get("WAKE_ENDPOINT", "") or (stored.endpoint if stored else "")
    if not endpoint:
        raise ValueError(NO_SERVER)
    key = variables.get("WAKE_API_KEY", "")
    if not key and stored and addresses.origin(stored.endpoint) == addresses.origin(endpoint):
        key = stored.key
    return Access(endpoint, key, agent_id)


def read_logins(variables: Mapping[str, str]) -> Logins:
    """Returns the access that `wake login` stored. Raises ValueError for a damaged file."""
    path = path_of_logins(variables)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        agents = {
            agent_id: Access(entry["endpoint"], entry["key"], agent_id)
            for agent_id, entry in content["agents"].items()
        }
        return Logins(agents, str(content.get("default", "")))
    except FileNotFoundError:
        return Logins({})
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged. Remove it and run `wake login` again.") from error


def write_logins(logins: Logins, variables: Mapping[str, str]) -> Path:
    """Writes the file with mode 0600, whole or not at all. Raises OSError."""
    path = path_of_logins(variables)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = {
        "default": logins.default,
        "agents": {
            agent_id: {"endpoint": stored.endpoint, "key": stored.key}
            for agent_id, stored in logins.agents.items()
        },
    }
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n", mode=0o600)
    return path
