"""Writes errors for machines outside of any view, in the form that clients of the path read."""

from __future__ import annotations

from django.http import HttpResponse

from accounts.scim.errors import scim_error
from wake.api.errors import MESSAGES, plain_error
from wake.mcp.http_errors import as_json_rpc
from wake.server.http.machine_paths import row_of


def machine_error(path: str, status: int, code: str, message: str | None = None) -> HttpResponse:
    """Returns an error of the REST API, or the same error as JSON-RPC or SCIM if the path is one of
    MCP or SCIM."""
    refusal, row = plain_error(status, code, message), row_of(path)
    if row is not None and row.is_scim:
        return scim_error(status, message or MESSAGES[code])
    return as_json_rpc(refusal) if row is not None and row.is_mcp else refusal
