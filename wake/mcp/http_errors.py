"""Writes errors of HTTP, such as a 401, as JSON-RPC, because MCP clients read no other JSON."""

from __future__ import annotations

import json

import msgspec
from django.http import HttpResponse

from wake.api.parsers import Malformed, parse_strictly
from wake.mcp.protocol import Id, id_of


def id_in(body: bytes) -> Id | None:
    """Returns the id of a request that was refused before its body was read strictly, if there is
    one. The rest of the body may have what strict JSON does not have, such as U+0000."""
    try:
        value = json.loads(body)
        return id_of({"id": parse_strictly(json.dumps(id_of(value)).encode())})
    except (ValueError, RecursionError, Malformed):
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
