"""Imitates a client of MCP of either era, and sends what the SDKs send."""

from __future__ import annotations

import json
from typing import Any

from tests.fixtures.strict_client import Client
from wake.mcp import protocol
from wake.mcp.cards.clients import EXTENSION, MIME_TYPE, SESSION_HEADER

STATELESS, HANDSHAKE = "2026-07-28", "2025-11-25"


class McpClient:
    path = "/mcp"

    def __init__(
        self,
        key: str,
        *,
        version: str = STATELESS,
        takes_tasks: bool = False,
        takes_cards: bool = False,
    ) -> None:
        self.client = Client(raise_request_exception=False)
        self.key, self.version = key, version
        extensions: dict[str, Any] = {protocol.TASKS: {}} if takes_tasks else {}
        if takes_cards:
            extensions[EXTENSION] = {"mimeTypes": [MIME_TYPE]}
        self.capabilities: dict[str, Any] = {"extensions": extensions} if extensions else {}
        self.session: dict[str, str] = {}

    def initialize(self) -> Any:
        """Begins as clients before 2026-07-28 do, and keeps the id of the session if there is
        one. Returns the response."""
        params = {"protocolVersion": self.version, "capabilities": self.capabilities}
        response = self.ask("initialize", params)
        if SESSION_HEADER in response:
            self.session = {SESSION_HEADER: response[SESSION_HEADER]}
        return response

    def post(self, body: Any, **headers: str) -> Any:
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.client.post(
            self.path,
            content,
            content_type="application/json",
            headers={
                "Authorization": f"Bearer {self.key}",
                "Accept": "application/json, text/event-stream",
                **headers,
            },
        )

    def ask(self, method: str, params: Any = None, **headers: str) -> Any:
        """Returns the response of one request."""
        params = dict(params or {})
        sent = {}
        if self.version == STATELESS:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
                "io.modelcontextprotocol/clientInfo": {"name": "inspector", "version": "1"},
            }
            sent = {"Mcp-Protocol-Version": self.version, "Mcp-Method": method}
            if name := params.get("name") or params.get("taskId") or params.get("uri"):
                sent["Mcp-Name"] = str(name)
        elif method != "initialize":
            sent = {"Mcp-Protocol-Version": self.version}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.post(body, **{**sent, **self.session, **headers})

    def result(self, method: str, params: Any = None) -> Any:
        response = self.ask(method, params)
        assert response.status_code == 200, response.content
        return response.json()["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        """Returns the result of a tool."""
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def structured(self, tool: str, **arguments: Any) -> Any:
        result = self.call(tool, **arguments)
        assert result["isError"] is False, result["content"]
        return result["structuredContent"]

    def failure(self, tool: str, **arguments: Any) -> str:
        """Returns the text of a tool's error."""
        result = self.call(tool, **arguments)
        assert result["isError"] is True, result
        return str(result["content"][0]["text"])
