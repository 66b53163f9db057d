"""Finds out whether the server has claims. Without claims, an approval is not used up."""

from __future__ import annotations

import sys
from http import HTTPStatus

from wake_client.client import WakeClient
from wake_client.errors import WakeError
from wake_client.visible_text import visible

# On a server without these extensions, the hook neither claims approvals nor reports outcomes.
NEEDED = {"digest", "claim", "outcome"}
HAS_NO_LIST = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}
NO_LIST = (
    "The server does not say whether it has claims: GET /wake/v1 answers {status}. So approvals "
    "are not used up, and could count twice. If the server is Wake 0.3 or later, let your proxy "
    "pass this path on."
)


class NoList(Exception):
    """The server has no list of extensions, or a proxy hides the list."""


def has_claims(client: WakeClient) -> bool:
    """Returns whether the server has claims. A server without a list of extensions counts as one
    without claims, and stderr says so. Raises WakeError if the server is away."""
    try:
        return lists_claims(client)
    except NoList as warning:
        sys.stderr.write(f"wake hook: {visible(str(warning))}\n")
        return False


def lists_claims(client: WakeClient) -> bool:
    """Returns whether the list of extensions has claims. Raises NoList, or WakeError if the server
    is away."""
    try:
        return client.extensions() >= NEEDED
    except WakeError as error:
        if error.status not in HAS_NO_LIST:
            raise
        raise NoList(NO_LIST.format(status=error.status)) from error
