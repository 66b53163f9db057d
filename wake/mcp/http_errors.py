"""Writes errors of HTTP, such as a 401, as JSON-RPC, because MCP clients read no other JSON."""

from __future__ import annotations

import msgspec
from django.http import HttpResponse

from wake.mcp.protocol import Id


class _WithId(msgspec.Struct):
    id: Id | None = None


def id_in(body: bytes) -> Id | None:
    """Returns the id of a request that was refused before its body was checked, if there is one."""
    try:
        return msgspec.json.decode(body, type=_WithId).id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def as_json_rpc(refusal: HttpResponse, id: Id | None = None) -> HttpResponse:
    """Changes the body of an error of the REST API. The code is the status code of HTTP, which is
    outside of the codes that JSON-RPC and MCP reserve (MCP 2026-07-28, "Error Codes"). `data` has
    the other members of the error. Status and headers stay."""
    error = msgspec.json.decode(refusal.content)["error"]
    message = error.pop("message")
    failure = {"code": refusal.status_code, "message": message, "data": error}
    refusal.content = msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": failure})
    return refusal
