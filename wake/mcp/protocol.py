"""Reads JSON-RPC requests of both generations of MCP, and writes their answers.

Since 2026-07-28 each request stands alone: its version, the client's name and capabilities are in
`params._meta`, and headers repeat the parts that proxies need. Clients of earlier revisions begin
with `initialize`. Wake has no sessions for either generation.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from wake.mcp.cards.clients import declares_cards, is_in_session

Json: TypeAlias = dict[str, Any]
Id: TypeAlias = str | int

STATELESS_VERSION = "2026-07-28"
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
VERSIONS = (STATELESS_VERSION, *HANDSHAKE_VERSIONS)

META = "io.modelcontextprotocol/"
TASKS = f"{META}tasks"
CACHE_MS = 300_000
# The header Mcp-Name repeats this parameter.
NAMED_BY = {
    "tools/call": "name",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
NAMED_BY_WITH_CARDS = {**NAMED_BY, "resources/read": "uri"}

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
STATUS_CODES = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
# Before 2026-07-28, the error of a request is a response like any other, with a 200. SDKs of that
# time take another status for the end of the session.
ANSWERED_WITH_200 = {PARSE_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND}


class RequestRefused(Exception):
    """The request is answered with this error of JSON-RPC."""

    def __init__(self, code: int, message: str, *, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


@dataclass(frozen=True, slots=True)
class McpCall:
    """Holds a request, or a notification if `id` is None."""

    id: Id | None
    method: str
    params: Json
    is_stateless: bool
    client_name: str
    takes_tasks: bool = False
    takes_cards: bool = False


def id_of(value: Any) -> Id | None:
    """Returns the id of a request if it has a type that an answer may repeat."""
    id = value.get("id") if isinstance(value, dict) else None
    # In Python, true is a number.
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def read(value: Any, headers: Mapping[str, str], *, takes_cards: bool = False) -> McpCall:
    """Reads the parsed body. `headers` finds names in any case. With `takes_cards`, the client gets
    cards without declaring the extension. Raises RequestRefused."""
    method, params = _envelope(value)
    meta = params.get("_meta")
    version = headers.get("Mcp-Protocol-Version")
    if "id" not in value:
        _check_known(version)
        return McpCall(None, method, params, is_stateless=False, client_name="")
    if is_stateless(value, headers):
        meta = _checked_meta(meta)
        capabilities = meta[f"{META}clientCapabilities"]
        takes_cards = takes_cards or declares_cards(capabilities)
        named_by = NAMED_BY_WITH_CARDS if takes_cards else NAMED_BY
        _check_headers(method, params, meta[f"{META}protocolVersion"], headers, named_by)
        if meta[f"{META}protocolVersion"] != STATELESS_VERSION:
            raise _unsupported(meta[f"{META}protocolVersion"])
        name = _name(meta.get(f"{META}clientInfo"))
        extensions = capabilities.get("extensions")
        takes_tasks = isinstance(extensions, dict) and TASKS in extensions
        return McpCall(
            id_of(value),
            method,
            params,
            is_stateless=True,
            client_name=name,
            takes_tasks=takes_tasks,
            takes_cards=takes_cards,
        )
    _check_known(version)
    return McpCall(
        id_of(value),
        method,
        params,
        is_stateless=False,
        client_name=_name(params.get("clientInfo")),
        takes_cards=takes_cards
        or is_in_session(headers)
        or (method == "initialize" and declares_cards(params.get("capabilities"))),
    )


def is_stateless(value: Any, headers: Mapping[str, str]) -> bool:
    """Returns whether this is a request of 2026-07-28 or later, as far as it can be read."""
    value = value if isinstance(value, dict) else {}
    params = value.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return (
        value.get("method") == "server/discover"
        or headers.get("Mcp-Protocol-Version") == STATELESS_VERSION
        or (isinstance(meta, dict) and f"{META}protocolVersion" in meta)
    )


def status_code(failure: RequestRefused, id: Id | None, *, is_stateless: bool) -> int:
    """Returns the status code of HTTP for an error. The transports of the revisions define it:
    "Protocol Version Header" and "Server Validation" in 2026-07-28, "Sending Messages to the
    Server" and "Protocol Version Header" in the earlier ones."""
    if id is not None and failure.code in ANSWERED_WITH_200 and not is_stateless:
        return 200
    return STATUS_CODES[failure.code]


def answered(call: McpCall, result: Json, *, server: Json, is_list: bool = False) -> Json:
    """Returns the response. `is_list` is True for results that a client may cache for a while."""
    if call.is_stateless:
        meta = {**result.get("_meta", {}), f"{META}serverInfo": server}
        result = {"resultType": "complete", **result, "_meta": meta}
        if is_list:
            result |= {"ttlMs": CACHE_MS, "cacheScope": "private"}
    return {"jsonrpc": "2.0", "id": call.id, "result": result}


def refused(id: Id | None, failure: RequestRefused) -> Json:
    error: Json = {"code": failure.code, "message": str(failure)}
    if failure.data is not None:
        error["data"] = failure.data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def _envelope(value: Any) -> tuple[str, Json]:
    if isinstance(value, list):
        raise RequestRefused(INVALID_REQUEST, "Send one request at a time, not a batch.")
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise RequestRefused(INVALID_REQUEST, 'A request is an object whose "jsonrpc" is "2.0".')
    if "id" in value and id_of(value) is None:
        raise RequestRefused(INVALID_REQUEST, "The id must be a string or a whole number.")
    method = value.get("method")
    if not isinstance(method, str):
        raise RequestRefused(INVALID_REQUEST, "The method must be a string.")
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise RequestRefused(INVALID_PARAMS, "params must be an object.")
    return method, params


def _checked_meta(meta: Any) -> Json:
    needed = [f"{META}protocolVersion", f"{META}clientCapabilities"]
    missing = [name for name in needed if not isinstance(meta, dict) or name not in meta]
    if missing:
        raise RequestRefused(INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}.")
    if not isinstance(meta[needed[0]], str) or not isinstance(meta[needed[1]], dict):
        raise RequestRefused(INVALID_PARAMS, "params._meta has a value of the wrong type.")
    return dict(meta)


def _check_headers(
    method: str,
    params: Json,
    version: str,
    headers: Mapping[str, str],
    named_by: Mapping[str, str],
) -> None:
    expected = {"Mcp-Protocol-Version": version, "Mcp-Method": method}
    if method in named_by:
        expected["Mcp-Name"] = params.get(named_by[method], "")
    for name, value in expected.items():
        if _decoded(headers.get(name)) != value:
            raise RequestRefused(
                HEADER_MISMATCH, f"The header {name} does not say what the body says."
            )


def _decoded(value: str | None) -> str | None:
    """Reads a header. Text that is not ASCII is packed as `=?base64?...?=`."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def without_tasks() -> RequestRefused:
    """Returns the error for a client that did not declare the extension."""
    data: Json = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
    return RequestRefused(
        MISSING_CAPABILITY, "Declare the extension for tasks to use them.", data=data
    )


def _check_known(version: str | None) -> None:
    if version and version not in VERSIONS:
        raise _unsupported(version)


def _unsupported(version: str) -> RequestRefused:
    data = {"supported": list(VERSIONS), "requested": version[:80]}
    return RequestRefused(
        UNSUPPORTED_VERSION, "This server does not speak that revision.", data=data
    )


def _name(client: Any) -> str:
    name = client.get("name") if isinstance(client, dict) else None
    return name if isinstance(name, str) else ""
