"""Calls an agent with raw JSON-RPC, without an SDK. Waits at most five seconds for an answer, and
20 for each event of a stream."""

from __future__ import annotations

import itertools
import json
from collections.abc import Generator
from typing import Any

import httpx

from tests.relay.calling import answer_of

ANSWER_SECONDS = 5
EVENT_SECONDS = 20
TERMINAL = {f"TASK_STATE_{name}" for name in ("COMPLETED", "FAILED", "CANCELED", "REJECTED")}
_numbers = itertools.count(1)


class Caller:
    """Calls one agent in one version of the protocol."""

    def __init__(self, url: str, version: str, *, key: str = "") -> None:
        self.url = url
        self.version = version
        self.headers = {"A2A-Version": "1.0"} if version == "1.0" else {}
        if key:
            self.headers["Authorization"] = f"Bearer {key}"

    def post(self, body: Any, **headers: str) -> httpx.Response:
        return httpx.post(
            self.url, json=body, headers=self.headers | headers, timeout=ANSWER_SECONDS
        )

    def ask(self, method: str, params: Any, **headers: str) -> dict[str, Any]:
        """Returns the whole answer."""
        number = next(_numbers)
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        response = self.post(body, **headers)
        assert response.status_code == 200
        answer: dict[str, Any] = json.loads(answer_of(response))
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

    def stream(self, method: str, params: Any, **headers: str) -> Generator[Any, None, None]:
        """Yields the result of each event."""
        number = next(_numbers)
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        named = {"Accept": "text/event-stream"} | self.headers | headers
        with httpx.stream(
            "POST", self.url, json=body, headers=named, timeout=EVENT_SECONDS
        ) as response:
            assert response.status_code == 200
            assert response.headers["Content-Type"] == "text/event-stream", response.read()
            for line in response.iter_lines():
                if line.startswith("data: "):
                    answer = json.loads(line.removeprefix("data: "))
                    assert (answer["jsonrpc"], answer["id"]) == ("2.0", number)
                    yield answer["result"]

    def send(self, message_id: str, *, configuration: Any = None, **more: Any) -> Any:
        params = self.sending(message_id, configuration=configuration, **more)
        return self.result("SendMessage" if self.version == "1.0" else "message/send", params)

    def sending(self, message_id: str, *, configuration: Any = None, **more: Any) -> Any:
        """Returns the params of a send."""
        message = {
            "role": "ROLE_USER" if self.version == "1.0" else "user",
            "messageId": message_id,
            "parts": [
                {"text": "Hello"} if self.version == "1.0" else {"kind": "text", "text": "Hi"}
            ],
            **more,
        }
        return {"message": message} | ({"configuration": configuration} if configuration else {})


def reason(error: dict[str, Any]) -> str:
    (info,) = [each for each in error["data"] if each["@type"].endswith("google.rpc.ErrorInfo")]
    assert info["domain"] == "a2a-protocol.org"
    code: str = info["reason"]
    return code
