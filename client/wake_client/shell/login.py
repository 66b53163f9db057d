"""Implements `wake login`, which stores the server and the key of an agent."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable, Mapping
from typing import Any

from wake_client.client import WakeClient
from wake_client.http import addresses, keys
from wake_client.shell.access import Access, path_of_logins, read_logins, write_logins
from wake_client.shell.output import ExitStatus, add_parser, guarded, show

EXAMPLE = """\
  wake login --endpoint https://wake.example.com --agent painter
  wake login --agent painter --remove
The key is read from the terminal without showing it, or from stdin. It is stored in
$XDG_CONFIG_HOME/wake/agents.json, which only you can read. The last login is the default agent.
"""


def add_subcommand(subcommands: Any) -> None:
    parser = add_parser(subcommands, "login", "store a server and a key", start, example=EXAMPLE)
    parser.add_argument("--remove", action="store_true", help="forget the agent of --agent")


def start(
    arguments: argparse.Namespace,
    command: list[str],
    variables: Mapping[str, str],
    *,
    make_client: Callable[..., WakeClient] = WakeClient,
) -> int:
    agent_id = arguments.agent or variables.get("WAKE_AGENT_ID", "")
    if not agent_id:
        raise ValueError("The agent's id is needed: use --agent.")
    if arguments.remove:
        return _removed(arguments, agent_id, variables)
    logins = read_logins(variables)
    stored = logins.agents.get(agent_id)
    endpoint = arguments.endpoint or variables.get("WAKE_ENDPOINT", "")
    endpoint = endpoint or (stored.endpoint if stored else "")
    if not endpoint:
        raise ValueError("The server's address is needed: use --endpoint.")
    login = Access(addresses.origin(endpoint), keys.checked(_key(variables)), agent_id)

    def work() -> int:
        with make_client(login.endpoint, login.key, agent_id=agent_id, retry_for=5) as client:
            client.sweep(limit=1)  # makes a request now, so that a wrong key is noticed
        logins.agents[agent_id] = login
        logins.default = agent_id
        path = write_logins(logins, variables)
        facts = {"agent_id": agent_id, "endpoint": login.endpoint, "file": str(path)}
        show(arguments, facts, f"{agent_id} is logged in at {login.endpoint} ({path})")
        return ExitStatus.OK

    return guarded(work)


def _key(variables: Mapping[str, str]) -> str:
    if key := variables.get("WAKE_API_KEY", ""):
        return key
    return getpass.getpass("Key (wk_live_...): ") if sys.stdin.isatty() else sys.stdin.readline()


def _removed(arguments: argparse.Namespace, agent_id: str, variables: Mapping[str, str]) -> int:
    logins = read_logins(variables)
    if logins.agents.pop(agent_id, None) is None:
        raise ValueError(f"{agent_id} is not stored in {path_of_logins(variables)}.")
    if logins.default == agent_id:
        logins.default = next(iter(logins.agents), "")
    write_logins(logins, variables)
    show(arguments, {"agent_id": agent_id, "removed": True}, f"{agent_id} is forgotten")
    return ExitStatus.OK
