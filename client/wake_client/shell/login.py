"""Implements `wake login`, which stores the server and the key of an agent."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from wake_client.client import WakeClient
from wake_client.http import addresses, keys
from wake_client.logins.device_flow import sign_in
from wake_client.logins.stored import (
    KEYRING,
    Access,
    Login,
    path_of_logins,
    read_logins,
    remove_login,
    store_login,
)
from wake_client.shell.browser_login import (
    SignIn,
    Terminal,
    log_in,
    open_nothing,
    report_of,
    this_terminal,
)
from wake_client.shell.output import ExitStatus, add_parser, guarded, say, show

EXAMPLE = """\
  wake login https://wake.example.com
  wake login --endpoint https://wake.example.com --agent painter
  wake login --agent painter --remove
With a URL, a person approves this machine in the browser, and the server issues its key. With
--endpoint, the key is read from WAKE_API_KEY, from the terminal without showing it, or from stdin.
The key is stored in $XDG_CONFIG_HOME/wake/agents.json, which only you can read, or in the keyring
of the system if wake-client[keyring] is installed. The last login is the default agent.
"""
OTHER_KEY = "WAKE_API_KEY is set, so commands use that key instead of the stored one."


def add_subcommand(subcommands: Any) -> None:
    parser = add_parser(subcommands, "login", "store a server and a key", start, example=EXAMPLE)
    parser.add_argument("url", nargs="?", metavar="URL", help="sign in with the browser")
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, and open no browser"
    )
    parser.add_argument("--remove", action="store_true", help="forget the agent of --agent")


def start(
    arguments: argparse.Namespace,
    command: list[str],
    variables: Mapping[str, str],
    *,
    make_client: Callable[..., WakeClient] = WakeClient,
    terminal: Terminal | None = None,
    sign_in: SignIn = sign_in,
) -> int:
    if arguments.url:
        return _sign_in(arguments, variables, terminal or this_terminal(variables), sign_in)
    agent_id = arguments.agent or variables.get("WAKE_AGENT_ID", "")
    if not agent_id:
        raise ValueError(
            "Use `wake login URL` to sign in with the browser, or --agent to store a key."
        )
    if arguments.remove:
        remove_login(agent_id, variables)
        show(arguments, {"agent_id": agent_id, "removed": True}, f"{agent_id} is forgotten")
        return ExitStatus.OK
    stored = read_logins(variables).agents.get(agent_id)
    endpoint = arguments.endpoint or variables.get("WAKE_ENDPOINT", "")
    endpoint = endpoint or (stored.endpoint if stored else "")
    if not endpoint:
        raise ValueError("The server's address is needed: use --endpoint.")
    access = Access(addresses.origin(endpoint), keys.checked(_key(variables)), agent_id)

    def work() -> int:
        with make_client(access.endpoint, access.key, agent_id=agent_id, retry_for=5) as client:
            client.sweep(limit=1)  # makes a request now, so that a wrong key is noticed
        return _report(arguments, store_login(access, variables), variables)

    return guarded(work)


def _sign_in(
    arguments: argparse.Namespace,
    variables: Mapping[str, str],
    terminal: Terminal,
    sign_in: SignIn,
) -> int:
    if arguments.remove or arguments.endpoint:
        raise ValueError("URL signs in with the browser. Leave out --endpoint and --remove.")
    agent_id = arguments.agent or variables.get("WAKE_AGENT_ID", "")
    if arguments.no_browser:
        terminal = replace(terminal, open_link=open_nothing)

    def work() -> int:
        login = log_in(arguments.url, variables, terminal, agent_id=agent_id, sign_in=sign_in)
        if variables.get("WAKE_API_KEY"):
            say(OTHER_KEY)
        return _report(arguments, login, variables)

    return guarded(work)


def _report(arguments: argparse.Namespace, login: Login, variables: Mapping[str, str]) -> int:
    facts = {
        "agent_id": login.agent_id,
        "endpoint": login.endpoint,
        "file": str(path_of_logins(variables)),
        "key_in": KEYRING if login.key is None else "file",
    }
    show(arguments, facts, report_of(login, variables))
    return ExitStatus.OK


def _key(variables: Mapping[str, str]) -> str:
    if key := variables.get("WAKE_API_KEY", ""):
        return key
    return getpass.getpass("Key (wk_live_...): ") if sys.stdin.isatty() else sys.stdin.readline()
