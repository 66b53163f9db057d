"""Calls an agent with raw JSON-RPC, without an SDK, and waits at most five seconds a call."""

from __future__ import annotations

import itertools
from typing import Any

import httpx

SECONDS = 5
TERMINAL = {f"TASK_STATE_{name}" for name in ("COMPLETED", "FAILED", "CANCELED", "REJECTED")}
_numbers = itertools.count(1)


class Caller:
    """Speaks one version to one agent."""

    def __init__(self, url: str, version: str, *, key: str = "") -> None:
        self.url = url
        self.version = version
        self.headers = {"A2A-Version": "1.0"} if version == "1.0" else {}
        if key:
            self.headers["Authorization"] = f"Bearer {key}"

    def post(self, body: Any, **headers: str) -> httpx.Response:
        return httpx.post(self.url, json=body, headers=self.headers | headers, timeout=SECONDS)

    def ask(self, method: str, params: Any, **headers: str) -> dict[str, Any]:
        """Returns the whole answer."""
        number = next(_numbers)
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        response = self.post(body, **headers)
        assert response.status_code == 200
        answer: dict[str, Any] = response.json()
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == number
        assert ("result" in answer) != ("error" in answer)
        return answer

    def result(self, method: str, params: Any) -> Any:
        answer = self.ask(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, params: Any, **headers: str) -> dict[str, Any]:
        answer = self.ask(method, params, **headers)
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    def send(self, message_id: str, *, configuration: Any = None, **more: Any) -> Any:
        message = {
            "role": "ROLE_USER" if self.version == "1.0" else "user",
            "messageId": message_id,
            "parts": [
                {"text": "Hello"} if self.version == "1.0" else {"kind": "text", "text": "Hi"}
            ],
            **more,
        }
        params = {"message": message} | ({"configuration": configuration} if configuration else {})
        if self.version == "1.0":
            return self.result("SendMessage", params)
        return self.result("message/send", params)


def reason(error: dict[str, Any]) -> str:
    (info,) = [each for each in error["data"] if each["@type"].endswith("google.rpc.ErrorInfo")]
    assert info["domain"] == "a2a-protocol.org"
    found: str = info["reason"]
    return found
