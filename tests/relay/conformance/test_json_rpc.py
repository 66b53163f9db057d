"""Invalid JSON-RPC requests are refused in both versions, with and without a trailing slash."""

from __future__ import annotations

import sys
from typing import Any

import httpx
import pytest

from tests.relay.conformance.caller import ANSWER_SECONDS, Caller
from tests.relay.conformance.server import Relay

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
    pytest.mark.once,  # the server brings its own database
    pytest.mark.system,
]


# 9 JSON-RPC, and JSON-RPC 2.0 itself --------------------------------------------------------------


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"jsonrpc": "aaa", "method": "SendMessage", "params": {}}, -32600),
        ({"jsonrpc": "2.0", "params": {}}, -32600),
        ({"jsonrpc": "2.0", "method": "SendMessageXXX", "id": "3", "params": {}}, -32601),
        ({"jsonrpc": "2.0", "method": "SendMessage", "params": {}, "id": {"bad": 1}}, -32600),
        ({"jsonrpc": "2.0", "method": "SendMessage", "params": {}, "id": True}, -32600),
        ({"jsonrpc": "2.0", "method": "SendMessage", "id": "4", "params": {"": "x"}}, -32602),
        ({"jsonrpc": "2.0", "method": "SendMessage", "id": "4", "params": "x"}, -32602),
        ([{"jsonrpc": "2.0", "method": "GetTask", "id": 1, "params": {"id": "x"}}], -32600),
        ("not an object", -32600),
    ],
)
@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_an_invalid_request_is_refused(
    version: str, body: Any, code: int, slash: str, relay: Relay
) -> None:
    if version == "0.3" and isinstance(body, dict) and body.get("method") == "SendMessage":
        body = body | {"method": "message/send"}

    response = Caller(relay.url + slash, version).post(body)

    assert response.status_code == 200
    assert response.json()["error"]["code"] == code


@pytest.mark.parametrize("slash", ["", "/"])
def test_invalid_json_is_refused(slash: str, relay: Relay) -> None:
    response = httpx.post(
        relay.url + slash,
        content='{"jsonrpc": "2.0", "method": "message/send", "params": {"foo": "bar"}',
        headers={"Content-Type": "application/json"},
        timeout=ANSWER_SECONDS,
    )

    assert response.status_code == 200
    assert response.json()["error"]["code"] == -32700


def test_a_body_of_another_content_type_is_refused(caller: Caller) -> None:
    response = httpx.post(
        caller.url,
        content='{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}',
        headers={"Content-Type": "text/plain", "A2A-Version": "1.0"},
        timeout=ANSWER_SECONDS,
    )

    assert response.json()["error"]["code"] == -32005


@pytest.mark.parametrize(
    "message",
    [{}, {"kind": "message"}, {"parts": "invalid"}, {"role": "ROLE_USER", "messageId": "x"}],
)
@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_an_invalid_message_is_refused(version: str, message: dict[str, Any], relay: Relay) -> None:
    method = "SendMessage" if version == "1.0" else "message/send"

    assert Caller(relay.url, version).error(method, {"message": message})["code"] == -32602
