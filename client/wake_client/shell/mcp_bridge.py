"""Implements `wake mcp`, through which a client that starts MCP servers as programs connects to
/mcp."""

from __future__ import annotations

import argparse
import base64
import json
import sys
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TextIO

import httpx

from wake_client.http import addresses, keys
from wake_client.shell.access import access
from wake_client.shell.output import ExitStatus, add_parser
from wake_client.version import __version__

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
# The server waits up to 50 seconds for an answer.
RESPONSE_SECONDS = 90.0
MAX_REQUESTS = 16
PARSE_ERROR, INTERNAL_ERROR = -32700, -32603
# The header Mcp-Name repeats this parameter.
NAMED_BY = {
    "tools/call": "name",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
    "resources/read": "uri",
}
SESSION = "Mcp-Session-Id"
EXAMPLE = """\
  {"mcpServers": {"wake": {"command": "wake", "args": ["mcp", "--agent", "painter"]}}}
Claude Desktop starts it like this; it takes the key from `wake login`.
"""


def add_subcommand(subcommands: Any) -> None:
    add_parser(
        subcommands, "mcp", "connect stdin and stdout to /mcp", start, example=EXAMPLE,
        json_help="",
    )  # fmt: skip


def start(
    arguments: argparse.Namespace,
    command: list[str],
    variables: Mapping[str, str],
    *,
    transport: httpx.BaseTransport | None = None,
) -> int:
    credentials = access(
        variables, endpoint=arguments.endpoint or "", agent_id=arguments.agent or ""
    )
    headers = {
        "Authorization": f"Bearer {keys.checked(credentials.key)}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "User-Agent": f"wake-mcp/{__version__}",
    }
    url = f"{addresses.origin(credentials.endpoint)}/mcp"
    with httpx.Client(headers=headers, transport=transport, timeout=RESPONSE_SECONDS) as http:
        Bridge(http, url, sys.stdout).run(sys.stdin)
    return ExitStatus.OK


class Bridge:
    """Sends each line as its own request, so that a ping is answered while a question waits."""

    def __init__(self, http: httpx.Client, url: str, out: TextIO) -> None:
        self.http, self.url, self.out = http, url, out
        self.writing = threading.Lock()

    def run(self, lines: Iterable[str]) -> None:
        """Answers requests until the input ends and every request has its answer."""
        with ThreadPoolExecutor(MAX_REQUESTS) as pool:
            for line in lines:
                if line.strip():
                    pool.submit(self._answer, line)

    def _answer(self, line: str) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._write(_error(None, PARSE_ERROR, "The line is not JSON."))
            return
        id = message.get("id") if isinstance(message, dict) else None
        try:
            response = self.http.post(self.url, content=line.encode(), headers=_headers(message))
            if session := response.headers.get(SESSION):
                self.http.headers[SESSION] = session
            answer = _answer_in(response, id)
        except httpx.HTTPError as error:
            text = f"The server cannot be reached: {str(error) or type(error).__name__}"
            answer = _error(id, INTERNAL_ERROR, text)
        is_request = isinstance(message, dict) and "method" in message and "id" in message
        if answer is not None and (is_request or not isinstance(message, dict)):
            self._write(answer)

    def _write(self, answer: dict[str, Any]) -> None:
        with self.writing:
            self.out.write(json.dumps(answer, ensure_ascii=False) + "\n")
            self.out.flush()


def _headers(message: Any) -> dict[str, str]:
    """Returns the headers that repeat values of the body. Clients of the revision 2026-07-28 send
    such headers."""
    given = message.get("params") if isinstance(message, dict) else None
    params = given if isinstance(given, dict) else {}
    meta = params.get("_meta")
    version = meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None
    if not isinstance(version, str):
        return {}
    method = str(message.get("method"))
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    if method in NAMED_BY:
        headers["Mcp-Name"] = str(params.get(NAMED_BY[method]))
    return {name: _packed(value) for name, value in headers.items()}


def _packed(value: str) -> str:
    if value.isascii() and value.isprintable():
        return value
    # The server refuses half of a surrogate pair, and says so.
    packed = base64.b64encode(value.encode(errors="surrogatepass")).decode()
    return f"=?base64?{packed}?="


def _answer_in(response: httpx.Response, id: Any) -> dict[str, Any] | None:
    """Returns the JSON-RPC answer. Makes one from any other error, such as that of a proxy. The
    answer always has the id of the request, because a server that refuses the whole body, as too
    large for example, could not read the id."""
    if response.status_code == 202:
        return None
    try:
        body = response.json()
    except ValueError:
        body = None
    if isinstance(body, dict) and body.get("jsonrpc") == "2.0":
        return {**body, "id": id}
    error = body.get("error") if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    host = response.url.host
    return _error(id, INTERNAL_ERROR, message or f"{host} answered {response.status_code}.")


def _error(id: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}
