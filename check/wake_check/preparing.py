"""Prepares a run: the server, the person, and the receiver of callbacks."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing

from wake_check import arguments
from wake_check.clock import Clock
from wake_check.people import Driver, NoOne, People
from wake_check.receiver import Receiver
from wake_check.run import Run
from wake_check.server import OTHER, OWN, TEST, Server
from wake_check.verdicts import Broken

# A person at a terminal has to read and to type. A program answers in seconds.
PATIENCE_OF_PROGRAMS, PATIENCE_AT_TERMINALS = 60.0, 900.0
HELD_BACK = (OWN, OTHER, TEST, arguments.SECRET)  # a driver needs no key of an agent


class Unusable(Exception):
    """The server cannot be judged with these arguments. The message says what to do."""


def prepare(
    given: argparse.Namespace, variables: Mapping[str, str], clock: Clock, opened: ExitStack
) -> Run:
    """Opens everything that a run needs; `opened` closes it. Raises Unusable."""
    agent_id = given.agent or variables.get(arguments.AGENT, "")
    keys = arguments.keys_of(variables)
    if not keys[OWN] or not agent_id:
        raise Unusable(f"Set {OWN} to the key of an agent, and {arguments.AGENT} to its id.")
    ca_file = variables.get("SSL_CERT_FILE", "")
    server = opened.enter_context(closing(Server(given.url, keys, ca_file=ca_file)))
    capabilities = _capabilities(server)
    receiver = opened.enter_context(closing(_receiver(given)))
    command = arguments.driver_command(given.driver)
    people = opened.enter_context(closing(people_of(command, given.url, variables)))
    is_at_terminal = command[-1:] == ["wake_check.drivers.terminal"]
    usual = PATIENCE_AT_TERMINALS if is_at_terminal else PATIENCE_OF_PROGRAMS
    return Run(
        server=server,
        people=people,
        receiver=receiver,
        clock=clock,
        agent_id=agent_id,
        secret=variables.get(arguments.SECRET, ""),
        other_agent_id=given.other_agent,
        plain_http=given.plain_http.rstrip("/"),
        patience=given.patience or usual,
        capabilities=capabilities,
    )


def _capabilities(server: Server) -> dict[str, object]:
    """Returns what the server declares. Raises Unusable if it does not answer the agent's key."""
    try:
        capabilities = server.send("GET", "", key="")
        sweep = server.get("responses", limit=1)
    except Broken as broken:
        error = broken.exchange.error if broken.exchange else ""
        raise Unusable(f"{server.origin} does not answer. {error}") from None
    if sweep.status in {401, 403}:
        raise Unusable(f"The server refuses the key of {OWN} with a {sweep.status}.")
    return capabilities.members if capabilities.status == 200 else {}


def _receiver(given: argparse.Namespace) -> Receiver:
    try:
        return Receiver(host=given.callback_host, port=given.callback_port, url=given.callback_url)
    except OSError as error:
        raise Unusable(f"Nothing can listen on port {given.callback_port}: {error}.") from None


def people_of(command: Sequence[str], url: str, variables: Mapping[str, str]) -> People:
    """Starts the driver. It gets this environment, but no key. Raises Unusable if it does not
    start."""
    if not command:
        return NoOne()
    passed_on = {name: value for name, value in variables.items() if name not in HELD_BACK}
    try:
        return Driver(command, {**passed_on, "WAKE_CHECK_URL": url})
    except OSError as error:
        raise Unusable(f"The driver does not start: {error}.") from None
