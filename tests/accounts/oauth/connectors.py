"""Describes what each client of MCP does when it signs in, as read on 2026-11-26 in its makers'
documents, in its source, and in logs of public servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.accounts.oauth import metadata_documents as documents

RESOURCE = "http://127.0.0.1:8000/mcp/people"
MCP = "/mcp/people"
OF_MCP = "/.well-known/oauth-protected-resource/mcp/people"
OF_ORIGIN = "/.well-known/oauth-protected-resource"
OF_SERVER = "/.well-known/oauth-authorization-server/oauth"
OPENID = "/.well-known/openid-configuration/oauth"
# The order of the parameters, from the logs of Claude and of VS Code.
CLAUDES_ORDER = (
    *("response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method"),
    *("state", "scope", "resource", "prompt"),
)
VS_CODES_ORDER = (
    *("client_id", "response_type", "code_challenge", "code_challenge_method", "scope"),
    *("resource", "redirect_uri", "state"),
)


@dataclass(frozen=True)
class Connector:
    """Describes one client. `probes` are the requests before the registration, each with the status
    that it needs. Either `document` or `registration` says who the client is. The client leaves out
    the parameters that are None."""

    name: str
    redirect_uri: str
    probes: list[tuple[str, str, int]]
    document: dict[str, Any] | None = None
    registration: dict[str, Any] | None = None
    order: tuple[str, ...] = VS_CODES_ORDER
    asks: dict[str, str | None] = field(default_factory=dict)
    exchanges: dict[str, str] = field(default_factory=lambda: {"resource": RESOURCE})
    refreshes: dict[str, str] = field(default_factory=lambda: {"resource": RESOURCE})
    headers: dict[str, str] = field(default_factory=dict)

    def with_order(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Returns the parameters in the order in which this client sends them."""
        return {name: parameters[name] for name in self.order if parameters.get(name) is not None}


CONNECTORS = [
    Connector(
        name="Claude on the web and the desktop, by its document",
        redirect_uri="https://claude.ai/api/mcp/auth_callback",
        probes=[("post", MCP, 401), ("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        document=documents.CLAUDE,
        order=CLAUDES_ORDER,
        asks={"scope": " offline_access", "prompt": "consent"},
        headers={"User-Agent": "Claude-User"},
    ),
    Connector(
        name="Claude on the web and the desktop, registered",
        redirect_uri="https://claude.ai/api/mcp/auth_callback",
        probes=[
            *(("post", MCP, 401), ("get", OF_MCP, 200), ("get", OF_ORIGIN, 404)),
            ("get", OF_SERVER, 200),
        ],
        registration=documents.CLAUDE_REGISTRATION,
        order=CLAUDES_ORDER,
        asks={"prompt": "consent"},
        headers={"User-Agent": "python-httpx/0.28.1"},
    ),
    Connector(
        name="Claude Code",
        redirect_uri="http://localhost:51234/callback",
        # `claude mcp login` makes no request to the server of MCP before these.
        probes=[("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        document=documents.CLAUDE_CODE,
        order=CLAUDES_ORDER,
    ),
    Connector(
        name="Claude Code 2.1.229",
        redirect_uri="http://127.0.0.1:3118/callback",
        probes=[("post", MCP, 401), ("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        document=documents.CLAUDE_CODE,
        order=CLAUDES_ORDER,
        asks={"scope": None},
    ),
    Connector(
        name="ChatGPT",
        redirect_uri="https://chatgpt.com/connector_platform_oauth_redirect",
        probes=[
            *(("post", MCP, 401), ("get", OF_MCP, 200), ("get", OF_SERVER, 200)),
            ("get", OPENID, 404),
        ],
        document=documents.CHATGPT,
    ),
    Connector(
        name="Cursor on the desktop",
        redirect_uri="http://localhost:8787/callback",
        probes=[("get", OF_MCP, 200), ("get", OF_ORIGIN, 404), ("get", OF_SERVER, 200)],
        registration=documents.CURSOR_REGISTRATION,
    ),
    Connector(
        name="Cursor on the web",
        redirect_uri="https://www.cursor.com/agents/mcp/oauth/callback",
        probes=[("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        document=documents.CURSOR,
    ),
    Connector(
        name="Cursor on older desktops",
        redirect_uri="cursor://anysphere.cursor-mcp/oauth/callback",
        probes=[("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        registration=documents.CURSOR_REGISTRATION,
    ),
    Connector(
        name="VS Code",
        redirect_uri="http://127.0.0.1:33418/",
        probes=[("post", MCP, 401), ("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        document=documents.VS_CODE,
        asks={"state": "YWJj/ZGVm+Zw=="},
        headers={"Accept": "application/json"},
    ),
    Connector(
        name="VS Code, when its port is taken",
        redirect_uri="http://127.0.0.1:59656/",
        probes=[("post", MCP, 401), ("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        document=documents.VS_CODE,
    ),
    Connector(
        name="VS Code in a remote window, registered",
        redirect_uri="https://vscode.dev/redirect",
        probes=[("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        registration=documents.VS_CODE_REGISTRATION,
        headers={"Accept": "application/json"},
    ),
    Connector(
        name="Gemini CLI",
        redirect_uri="http://localhost:7777/oauth/callback",
        probes=[("post", MCP, 401), ("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        registration=documents.GEMINI_REGISTRATION,
        refreshes={"resource": RESOURCE, "scope": "deliver offline_access"},
        headers={"Accept": "application/json, application/x-www-form-urlencoded"},
    ),
    Connector(
        name="Codex",
        redirect_uri="http://127.0.0.1:51234/callback",
        probes=[("post", MCP, 401), ("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        document=documents.CODEX,
        refreshes={},
    ),
    Connector(
        name="Codex, registered",
        redirect_uri="http://127.0.0.1:51234/callback",
        probes=[("get", OF_MCP, 200), ("get", OF_SERVER, 200)],
        registration=documents.CODEX_REGISTRATION,
        refreshes={},
    ),
]


def takes_documents(server: dict[str, Any]) -> bool:
    """Returns whether Claude, Codex and others use their document with a server of this
    metadata."""
    methods = server["token_endpoint_auth_methods_supported"]
    return server["client_id_metadata_document_supported"] is True and "none" in methods


def challenge_of(answer: Any) -> Callable[[str], str]:
    """Returns a function that reads a parameter of the challenge in a 401."""
    header: str = answer.headers["WWW-Authenticate"]
    return lambda name: header.partition(f'{name}="')[2].partition('"')[0]
