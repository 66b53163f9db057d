"""Recognises the clients that show cards."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

EXTENSION = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
SESSION_HEADER = "Mcp-Session-Id"
_SESSION = "cards-"


def declares_cards(capabilities: Any) -> bool:
    """Returns whether a client's capabilities have the extension with the type of our card."""
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    declared = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    types = declared.get("mimeTypes") if isinstance(declared, dict) else None
    return isinstance(types, list) and MIME_TYPE in types


def new_session_id() -> str:
    """Returns the id of a session for a client that declared the extension in `initialize`.

    Before 2026-07-28, only `initialize` has the client's capabilities, and Wake stores no sessions.
    But a client repeats the id of its session with every request. So the id itself says that this
    client shows cards. It says nothing else and gives no rights. Other clients get no id.
    """
    return f"{_SESSION}{uuid.uuid4()}"


def is_in_session(headers: Mapping[str, str]) -> bool:
    """Returns whether the request has the id of such a session."""
    return (headers.get(SESSION_HEADER) or "").startswith(_SESSION)
