"""MCP follows JSON-RPC and HTTP in both eras (2026-07-28, and 2025-03-26 to 2025-11-25)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import RequestFactory

from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.wake.mcp.client import HANDSHAKE, STATELESS, McpClient
from wake.mcp import protocol, wording
from wake.models import Delivery
from wake.server.http.error_handlers import bad_request, not_found, server_error

pytestmark = pytest.mark.django_db
META = "io.modelcontextprotocol/"


def error(response: Any) -> tuple[int, int]:
    return response.status_code, json.loads(response.content)["error"]["code"]


def test_discovery_lists_the_protocol_versions(mcp: McpClient) -> None:
    discovered = mcp.result("server/discover")

    assert discovered["supportedVersions"][0] == STATELESS
    assert discovered["capabilities"] == {
        "tools": {"listChanged": False},
        "extensions": {protocol.TASKS: {}},
    }
    assert discovered["instructions"] == wording.INSTRUCTIONS
    assert discovered["_meta"][f"{META}serverInfo"]["name"] == "wake"
    assert (discovered["resultType"], discovered["cacheScope"]) == ("complete", "private")
    assert discovered["ttlMs"] > 0


def test_the_instructions_are_short() -> None:
    assert len(wording.INSTRUCTIONS.encode()) <= 1024


@pytest.mark.parametrize("asked", protocol.HANDSHAKE_VERSIONS)
def test_a_handshake_agrees_on_the_clients_revision(asked: str, mcp: McpClient) -> None:
    mcp.version = HANDSHAKE

    initialized = mcp.result("initialize", {"protocolVersion": asked, "capabilities": {}})

    assert initialized["protocolVersion"] == asked
    assert initialized["serverInfo"]["name"] == "wake"
    assert "resultType" not in initialized


def test_a_handshake_with_an_unknown_revision_offers_the_newest(mcp: McpClient) -> None:
    mcp.version = HANDSHAKE

    initialized = mcp.result("initialize", {"protocolVersion": "1999-01-01", "capabilities": {}})

    assert initialized["protocolVersion"] == HANDSHAKE


def test_there_are_six_tools(either: McpClient) -> None:
    tools = either.result("tools/list")["tools"]

    assert [tool["name"] for tool in tools] == [
        "deliver", "ask", "check", "answers", "withdraw", "report",
    ]  # fmt: skip
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools)
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools)


@pytest.mark.parametrize("method", ["initialize", "ping"])
def test_what_only_older_revisions_have(method: str, mcp: McpClient) -> None:
    assert error(mcp.ask(method)) == (404, protocol.METHOD_NOT_FOUND)

    mcp.version = HANDSHAKE
    assert mcp.ask(method).status_code == 200


def test_a_notification_is_accepted(mcp: McpClient) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    taken = mcp.post(body, **{"Mcp-Protocol-Version": HANDSHAKE})

    assert (taken.status_code, taken.content) == (202, b"")


@pytest.mark.parametrize("method", ["get", "delete", "put", "patch"])
def test_there_is_no_stream_and_no_session(method: str, mcp: McpClient) -> None:
    refused = getattr(mcp.client, method)("/mcp", headers={"Authorization": f"Bearer {mcp.key}"})

    assert refused.status_code == 405
    assert "POST" in refused["Allow"]


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_call_without_a_key_is_a_401(slash: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    refused = Client().post(f"/mcp{slash}", body, content_type="application/json")

    assert error(refused) == (401, 401)
    assert refused["WWW-Authenticate"] == "Bearer"
    assert refused.json()["jsonrpc"] == "2.0"
    assert refused.json()["id"] == 1
    assert refused.json()["error"]["message"].startswith("A valid key is needed")
    assert refused.json()["error"]["data"] == {"code": "unauthorized"}


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration",
        "/mcp/.well-known/openid-configuration",
    ],
)
def test_there_is_no_oauth(path: str) -> None:
    """Cursor ignores a configured key if it finds one of these."""
    assert Client().get(path).status_code == 404


def test_pages_of_other_origins_may_not_call(mcp: McpClient, settings: Any) -> None:
    assert error(mcp.ask("tools/list", Origin="https://evil.example")) == (403, 403)
    assert mcp.ask("tools/list", Origin="null").status_code == 403
    assert mcp.ask("tools/list", Origin=settings.WAKE_ORIGIN).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("{", 400, protocol.PARSE_ERROR),
        (b"\xff", 400, protocol.PARSE_ERROR),
        ('{"a":1,"a":2}', 400, protocol.PARSE_ERROR),
        ("", 400, protocol.PARSE_ERROR),
        ("[]", 400, protocol.INVALID_REQUEST),
        ("7", 400, protocol.INVALID_REQUEST),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 400, protocol.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, 400, protocol.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, 400, protocol.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, 400, protocol.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1}, 400, protocol.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, 400, protocol.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, 400, protocol.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "method": "ping", "params": []}, 400, protocol.INVALID_PARAMS),
        ({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}, 400, protocol.INVALID_PARAMS),
    ],
)
def test_a_bad_request_has_its_code(body: Any, status: int, code: int, mcp: McpClient) -> None:
    assert error(mcp.post(body)) == (status, code)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("nothing", {}, protocol.METHOD_NOT_FOUND),
        ("prompts/list", {}, protocol.METHOD_NOT_FOUND),
        ("tools/call", {"name": "approve", "arguments": {}}, protocol.INVALID_PARAMS),
        ("tools/call", {"name": "deliver", "arguments": []}, protocol.INVALID_PARAMS),
    ],
)
def test_only_the_newest_revision_has_a_status_for_an_error(
    method: str, params: Any, code: int, mcp: McpClient
) -> None:
    """In earlier revisions, the SDK for Python 1.x ended its session after such a status."""
    assert error(mcp.ask(method, params)) == (protocol.STATUS_CODES[code], code)

    mcp.version = HANDSHAKE
    assert error(mcp.ask(method, params)) == (200, code)


def test_params_that_are_no_object_are_an_error_of_a_handshake_request(mcp: McpClient) -> None:
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": []}

    refused = mcp.post(body, **{"Mcp-Protocol-Version": HANDSHAKE})

    assert error(refused) == (200, protocol.INVALID_PARAMS)
    assert refused.json()["id"] == 7


@pytest.mark.parametrize(
    "argument",
    [r'"a\u0000b"', r'"\ud83d"', "1" * 400, '{"a": ' * 80 + "1" + "}" * 80, '{"a": 1, "a": 2}'],
)
def test_an_argument_that_strict_json_does_not_have_ends_no_session(
    argument: str, mcp: McpClient
) -> None:
    """A model may write such an argument. The SDK for Python 1.x ended its session after a 400."""
    params = f'{{"name": "check", "arguments": {{"delivery_id": {argument}}}}}'
    body = f'{{"method": "tools/call", "params": {params}, "jsonrpc": "2.0", "id": 7}}'

    old = mcp.post(body, **{"Mcp-Protocol-Version": HANDSHAKE})
    new = mcp.post(body, **{"Mcp-Protocol-Version": STATELESS})

    assert error(old) == (200, protocol.PARSE_ERROR)
    assert error(new) == (400, protocol.PARSE_ERROR)
    assert old.json()["id"] == new.json()["id"] == 7


@pytest.mark.parametrize(
    "id", [r'"\ud83d"', r'"\u0000"', "1" * 400, "1" * 5_000, "1.5", "NaN", "true", "[" * 100_000]
)
@pytest.mark.parametrize("status", [400, 401])
def test_an_id_that_no_answer_can_repeat_is_null(id: str, status: int, mcp: McpClient) -> None:
    if status == 401:
        mcp.key = "wk_live_wrong"

    refused = mcp.post(f'{{"jsonrpc": "2.0", "id": {id}, "method": "ping"}}')

    assert refused.status_code == status
    assert refused.json()["id"] is None


def test_a_notification_of_an_unknown_revision_is_refused(mcp: McpClient) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    refused = mcp.post(body, **{"Mcp-Protocol-Version": "2030-01-01"})

    assert error(refused) == (400, protocol.UNSUPPORTED_VERSION)


def test_an_error_repeats_the_id(mcp: McpClient) -> None:
    body = {"jsonrpc": "2.0", "id": "seven", "method": "nothing"}

    assert mcp.post(body).json()["id"] == "seven"


def test_an_unknown_revision_gets_the_known_ones(mcp: McpClient) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    refused = mcp.post(body, **{"Mcp-Protocol-Version": "2030-01-01"})

    assert error(refused) == (400, protocol.UNSUPPORTED_VERSION)
    assert refused.json()["error"]["data"]["supported"] == list(protocol.VERSIONS)


@pytest.mark.parametrize(
    "headers",
    [
        {"Mcp-Protocol-Version": HANDSHAKE},
        {"Mcp-Method": "tools/list"},
        {"Mcp-Name": "ask"},
        {"Mcp-Name": "=?base64?%%%?="},
    ],
)
def test_headers_must_match_the_body(headers: dict[str, str], mcp: McpClient) -> None:
    params = {"name": "answers", "arguments": {}}

    assert error(mcp.ask("tools/call", params, **headers)) == (400, protocol.HEADER_MISMATCH)


def test_a_header_may_be_packed(mcp: McpClient) -> None:
    params = {"name": "answers", "arguments": {}}

    taken = mcp.ask("tools/call", params, **{"Mcp-Name": "=?base64?YW5zd2Vycw==?="})

    assert taken.status_code == 200


def test_a_body_that_is_too_large_stores_nothing(mcp: McpClient, settings: Any) -> None:
    refused = mcp.post("x" * (settings.WAKE_MAX_BODY_BYTES + 1))

    assert error(refused) == (413, 413)
    assert refused.json()["error"]["data"] == {"code": "body_too_large"}
    assert refused.json()["id"] is None


def test_calls_count_as_reads(mcp: McpClient, caller: AgentClient, settings: Any) -> None:
    settings.WAKE_READS_PER_MINUTE = 2
    *taken, refused = [mcp.ask("tools/list") for _ in range(3)]

    assert [each.status_code for each in taken] == [200, 200]
    assert error(refused) == (429, 429)
    assert int(refused["Retry-After"]) > 0
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("id", ["seven", 7, None, True, [1]])
def test_an_error_of_http_repeats_an_id_that_is_one(id: Any, mcp: McpClient) -> None:
    mcp.key = "wk_live_wrong"
    body = {"jsonrpc": "2.0", "id": id, "method": "tools/list"}

    refused = mcp.post(body)

    assert refused.status_code == 401
    assert refused.json()["id"] == (id if id in ("seven", 7) and id is not True else None)


@pytest.mark.parametrize("method", ["get", "delete"])
def test_a_405_is_json_rpc(method: str, mcp: McpClient) -> None:
    refused = getattr(mcp.client, method)("/mcp", headers={"Authorization": f"Bearer {mcp.key}"})

    assert error(refused) == (405, 405)


def test_an_error_outside_of_the_view_is_json_rpc(rf: RequestFactory) -> None:
    request = rf.post("/mcp")

    refusals = [bad_request(request), not_found(request), server_error(request)]

    assert [error(refusal) for refusal in refusals] == [(400, 400), (404, 404), (500, 500)]


def test_plain_http_is_refused_in_json_rpc(mcp: McpClient, settings: Any) -> None:
    settings.DEVELOPMENT = False

    refused = mcp.ask("tools/list")

    assert error(refused) == (403, 403)
    assert refused.json()["error"]["data"] == {"code": "https_required"}


def test_a_wrong_host_is_refused_in_json_rpc(mcp: McpClient) -> None:
    assert error(mcp.ask("tools/list", Host="evil.example")) == (400, 400)
