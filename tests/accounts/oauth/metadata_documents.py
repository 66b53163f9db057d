"""Quotes the metadata documents and registrations of real clients, each with the day on which it
was read."""

from __future__ import annotations

from typing import Any

CODE, REFRESH = "authorization_code", "refresh_token"

# As served on 2026-09-29.
CLAUDE: dict[str, Any] = {
    "client_id": "https://claude.ai/oauth/mcp-oauth-client-metadata",
    "client_name": "Claude",
    "client_uri": "https://claude.ai",
    "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
    "grant_types": [CODE, REFRESH, "urn:ietf:params:oauth:grant-type:jwt-bearer"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}

# Fetched on 2026-09-08.
CLAUDE_CODE: dict[str, Any] = {
    "client_id": "https://claude.ai/oauth/claude-code-client-metadata",
    "client_name": "Claude Code",
    "client_uri": "https://claude.ai",
    "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
    "grant_types": [CODE, REFRESH],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}

# Fetched on 2026-09-08.
CHATGPT: dict[str, Any] = {
    "client_id": "https://chatgpt.com/oauth/client.json",
    "client_uri": "https://chatgpt.com/",
    "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect"],
    "token_endpoint_auth_method": "private_key_jwt",
    "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
    "grant_types": [CODE, REFRESH],
    "response_types": ["code"],
    "client_name": "ChatGPT",
    "logo_uri": "https://persistent.oaistatic.com/sonic/misc/openai-logo.png",
    "token_endpoint_auth_signing_alg": "RS256",
    "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
}

# Fetched on 2026-09-08.
VS_CODE: dict[str, Any] = {
    "client_name": "Visual Studio Code",
    "logo_uri": "https://code.visualstudio.com/assets/branding/code-stable.png",
    "grant_types": [CODE, REFRESH, "urn:ietf:params:oauth:grant-type:device_code"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
    "application_type": "native",
    "client_id": "https://vscode.dev/oauth/client-metadata.json",
    "client_uri": "https://vscode.dev/product",
    "redirect_uris": ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
}

# Read in autumn 2026 in logs, which show these parts of the document only.
CURSOR: dict[str, Any] = {
    "client_id": "https://cursor.com/oauth/mcp-client.json",
    "client_name": "Cursor",
    "redirect_uris": [
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "https://www.cursor.com/bot/mcp/oauth/callback",
        "http://localhost:8787/callback",
        "http://127.0.0.1:8787/callback",
    ],
    "token_endpoint_auth_method": "none",
}

# Read on 2026-11-26.
CODEX: dict[str, Any] = {
    "client_id": "https://chatgpt.com/oauth/codex/client.json",
    "client_uri": "https://chatgpt.com/codex",
    "application_type": "native",
    "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
    "token_endpoint_auth_method": "none",
    "token_endpoint_auth_methods_supported": ["none"],
    "grant_types": [CODE, REFRESH],
    "response_types": ["code"],
    "client_name": "Codex",
    "logo_uri": "https://persistent.oaistatic.com/sonic/misc/openai-logo.png",
}

DOCUMENTS = [CLAUDE, CLAUDE_CODE, CHATGPT, VS_CODE, CURSOR, CODEX]

# The bodies of registrations, read on 2026-11-26 in logs and in the clients' own source.
CLAUDE_REGISTRATION: dict[str, Any] = {
    "client_name": "Claude",
    "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
    "grant_types": [CODE, REFRESH],
    "response_types": ["code"],
    "token_endpoint_auth_method": "client_secret_post",
}
CURSOR_REGISTRATION: dict[str, Any] = {
    "client_name": "Cursor",
    "redirect_uris": [
        "http://localhost:8787/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "cursor://anysphere.cursor-mcp/oauth/callback",
    ],
    "grant_types": [CODE, REFRESH],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
    "scope": "deliver offline_access",
}
# VS Code leaves out the grant types that the server's metadata does not name.
VS_CODE_REGISTRATION: dict[str, Any] = {
    "client_name": "Visual Studio Code",
    "client_uri": "https://code.visualstudio.com",
    "grant_types": [CODE, REFRESH, "urn:ietf:params:oauth:grant-type:device_code"],
    "response_types": ["code"],
    "redirect_uris": [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
    ],
    "scope": "deliver offline_access",
    "token_endpoint_auth_method": "none",
    "application_type": "native",
}
GEMINI_REGISTRATION: dict[str, Any] = {
    "client_name": "Gemini CLI MCP Client",
    "redirect_uris": ["http://localhost:7777/oauth/callback"],
    "grant_types": [CODE, REFRESH],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
    "scope": "deliver offline_access",
}
CODEX_REGISTRATION: dict[str, Any] = {
    "client_name": "Codex",
    "redirect_uris": ["http://127.0.0.1:51234/callback"],
    "grant_types": [CODE, REFRESH],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}
REGISTRATIONS = [
    *(CLAUDE_REGISTRATION, CURSOR_REGISTRATION, VS_CODE_REGISTRATION),
    *(GEMINI_REGISTRATION, CODEX_REGISTRATION),
]
