"""Lists the paths that machines ask for, and how the server treats each of them.

Every other path is a page, for a person with a browser. A machine gets JSON errors, even for
failures before or around its view. It has no cookies, and skips the browser's middleware.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

PAGE_LIMIT = "DATA_UPLOAD_MAX_MEMORY_SIZE"  # Django's, for forms


@dataclass(frozen=True, slots=True)
class MachinePath:
    """Describes a path that machines use. If `takes_keys` is True, plain http is refused, because
    it would show the key to everyone on the way. `body_limit` is the name of the setting for the
    largest body. If `is_mcp` is True, errors are written as JSON-RPC. If
    `is_scim` is True, they are written as SCIM does."""

    prefix: str
    takes_keys: bool = False
    body_limit: str = PAGE_LIMIT
    is_mcp: bool = False
    is_scim: bool = False


MACHINE_PATHS = (
    MachinePath("/wake/v1/blobs/", takes_keys=True, body_limit="WAKE_MAX_BLOB_BYTES"),
    MachinePath("/wake/", takes_keys=True, body_limit="WAKE_MAX_BODY_BYTES"),
    MachinePath("/mcp/", takes_keys=True, body_limit="WAKE_MAX_BODY_BYTES", is_mcp=True),
    MachinePath("/@", takes_keys=True, body_limit="WAKE_MAX_A2A_BYTES"),  # agents, and their cards
    MachinePath("/connect/", takes_keys=True, body_limit="WAKE_MAX_A2A_BYTES"),  # connectors
    MachinePath("/.well-known/"),
    MachinePath("/oauth/token/", takes_keys=True),
    MachinePath("/oauth/revoke/", takes_keys=True),
    MachinePath("/oauth/register/", takes_keys=True),
    MachinePath("/oauth/device/", takes_keys=True),
    MachinePath("/scim/", takes_keys=True, body_limit="WAKE_MAX_BODY_BYTES", is_scim=True),
    MachinePath("/log/"),  # hashes of the log; entries are never served
    MachinePath("/artifacts/"),  # files of tasks; the link is signed
    MachinePath("/csp-reports/", body_limit="WAKE_MAX_REPORT_BYTES"),  # sent by browsers themselves
    MachinePath("/slack/", body_limit="WAKE_MAX_BODY_BYTES"),  # signed by Slack
    MachinePath("/healthz/"),
    MachinePath("/readyz/"),
)
_PREFIXES = tuple(row.prefix for row in MACHINE_PATHS)
LONGEST_PREFIX = max(map(len, _PREFIXES))


def is_machine_path(path: str) -> bool:
    return f"{path}/".startswith(_PREFIXES)


def row_of(path: str) -> MachinePath | None:
    """Returns the first matching row, or None for a page. A prefix also matches itself without its
    last slash."""
    return _row_of(f"{path}/"[:LONGEST_PREFIX])


@lru_cache(maxsize=256)
def _row_of(beginning: str) -> MachinePath | None:
    return next((row for row in MACHINE_PATHS if beginning.startswith(row.prefix)), None)
