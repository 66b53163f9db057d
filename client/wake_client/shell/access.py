"""Finds the server, the key and the agent of a command, in its options, in the environment, or from
`wake login`."""

from __future__ import annotations

from collections.abc import Mapping

from wake_client.http import addresses
from wake_client.logins.stored import Access, read_logins

NO_SERVER = (
    "The server's address is needed: run `wake login URL`, set WAKE_ENDPOINT, or use --endpoint."
)


def access(variables: Mapping[str, str], *, endpoint: str = "", agent_id: str = "") -> Access:
    """Returns the access of a command. Raises ValueError if there is no address. The key is empty
    if there is none."""
    known = known_access(variables, endpoint=endpoint, agent_id=agent_id)
    if not known.endpoint:
        raise ValueError(NO_SERVER)
    return known


def known_access(variables: Mapping[str, str], *, endpoint: str = "", agent_id: str = "") -> Access:
    """Returns what is known without asking a person. Each part may be empty.

    A stored key is sent only to the server that it was stored for.
    """
    logins = read_logins(variables)
    agent_id = agent_id or variables.get("WAKE_AGENT_ID", "") or logins.default
    stored = logins.agents.get(agent_id)
    endpoint = endpoint or variables.get("WAKE_ENDPOINT", "") or (stored.endpoint if stored else "")
    key = variables.get("WAKE_API_KEY", "")
    if not key and stored and addresses.origin(stored.endpoint) == addresses.origin(endpoint):
        key = stored.read_key()
    return Access(endpoint, key, agent_id)
