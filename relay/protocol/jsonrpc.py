"""Reads JSON-RPC 2.0 requests, and writes results and errors, as A2A binds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from relay.protocol.fields import InvalidParams

Json = dict[str, Any]
Id: TypeAlias = str | int | float | None

LONGEST_ID = 1_024  # in characters; limited, because a stream repeats the id in each event

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
TASK_NOT_FOUND = -32001
TASK_NOT_CANCELABLE = -32002
UNSUPPORTED_OPERATION = -32004
CONTENT_TYPE_NOT_SUPPORTED = -32005
EXTENDED_CARD_NOT_CONFIGURED = -32007
VERSION_NOT_SUPPORTED = -32009

# A2A's own errors by the names in their details (1.0, 5.4 and 9.5).
REASONS = {
    TASK_NOT_FOUND: "TASK_NOT_FOUND",
    TASK_NOT_CANCELABLE: "TASK_NOT_CANCELABLE",
    UNSUPPORTED_OPERATION: "UNSUPPORTED_OPERATION",
    CONTENT_TYPE_NOT_SUPPORTED: "CONTENT_TYPE_NOT_SUPPORTED",
    EXTENDED_CARD_NOT_CONFIGURED: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    VERSION_NOT_SUPPORTED: "VERSION_NOT_SUPPORTED",
}
_TYPE = "type.googleapis.com/google.rpc."


class InvalidRequest(Exception):
    """This is no JSON-RPC 2.0 request."""


@dataclass(frozen=True, slots=True)
class Request:
    """Holds a request. A request without an id is answered as well, with the id null, because A2A
    has no notifications."""

    id: Id
    method: str
    params: Any


def id_of(value: Any) -> Id:
    """Returns the id of a request if it may be echoed, and otherwise None."""
    id = value.get("id") if isinstance(value, dict) else None
    if isinstance(id, str) and len(id) > LONGEST_ID:
        return None
    # In Python, true is a number.
    return id if isinstance(id, str | int | float) and not isinstance(id, bool) else None


def read(value: Any) -> Request:
    """Reads a request; raises InvalidRequest."""
    if isinstance(value, list):
        raise InvalidRequest("A2A has no batches: send one request at a time.")
    if not isinstance(value, dict):
        raise InvalidRequest("A request must be an object.")
    id, method = id_of(value), value.get("method")
    if id is None and value.get("id") is not None:
        raise InvalidRequest(
            f"The id must be a string of up to {LONGEST_ID:,} characters, a number or null."
        )
    if value.get("jsonrpc") != "2.0":
        raise InvalidRequest('The member "jsonrpc" must be "2.0".')
    if not isinstance(method, str) or not method:
        raise InvalidRequest("The method must be a string that is not empty.")
    return Request(id, method, value.get("params", {}))


def answered(id: Id, result: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def refused(id: Id, code: int, message: str, details: list[Json] | None = None) -> Json:
    """Returns an error with the details that A2A requires for its own errors, followed by
    `details`."""
    error: Json = {"code": code, "message": message}
    if data := [*_error_info(code), *(details or [])]:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def bad_field(problem: InvalidParams) -> list[Json]:
    violation = {"field": problem.field, "description": problem.text}
    return [{"@type": f"{_TYPE}BadRequest", "fieldViolations": [violation]}]


def try_again(seconds: int) -> list[Json]:
    return [{"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{seconds}s"}]


def request_info(request_id: str) -> list[Json]:
    """Returns the id that the client chose for its request, if there is one."""
    return [{"@type": f"{_TYPE}RequestInfo", "requestId": request_id}] if request_id else []


def _error_info(code: int) -> list[Json]:
    if code not in REASONS:
        return []
    info = {"reason": REASONS[code], "domain": "a2a-protocol.org", "metadata": {}}
    return [{"@type": f"{_TYPE}ErrorInfo"} | info]
