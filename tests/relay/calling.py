"""Calls an agent over A2A with Django's test client and without an SDK."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from relay.models import Card, Message, Task
from relay.runs import presence
from relay.tasks import push_queue, transitions
from tests.fixtures.strict_client import Client

State = Task.State
IN_THE_END = datetime(2100, 1, 1, tzinfo=UTC)


def queue_pushes(**limits: int) -> int:
    """Queues the pushes of everything that has happened, as a worker does."""
    return push_queue.queue_due(at=IN_THE_END, **limits)


def presence_of(card: Card, *, at: datetime) -> presence.Presence:
    """Returns which connectors of the card's agent are online, and the agent's runs."""
    return presence.of(presence.with_runs(Card.objects.filter(pk=card.pk)).get(), at=at)


class Caller:
    """Calls one agent in one version of the protocol, with a key or without."""

    def __init__(self, card: Card, version: str = "1.0", key: str = "") -> None:
        self.path = f"/{card}"
        self.version = version
        self.secure = False
        self.client = Client(raise_request_exception=False)
        self.headers = {"A2A-Version": version} if version != "0.3" else {}
        if key:
            self.headers["Authorization"] = f"Bearer {key}"

    def post(self, body: Any, *, path: str = "", **headers: str) -> Any:
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(
            path or self.path,
            content,
            content_type=named.pop("Content-Type", "application/json"),
            headers={**self.headers, **named},
            secure=self.secure,
        )

    def ask(self, method: str, params: Any, **headers: str) -> dict[str, Any]:
        """Returns the whole answer."""
        body = {"jsonrpc": "2.0", "id": "req-1", "method": method, "params": params}
        response = self.post(body, **headers)
        assert response.status_code == 200, response.content
        answer: dict[str, Any] = json.loads(answer_of(response))
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == "req-1"
        assert ("result" in answer) != ("error" in answer)
        return answer

    def result(self, method: str, params: Any, **headers: str) -> Any:
        answer = self.ask(method, params, **headers)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, params: Any, **headers: str) -> dict[str, Any]:
        answer = self.ask(method, params, **headers)
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    def message(self, text: str = "Hello", **more: Any) -> dict[str, Any]:
        role, part = ("ROLE_USER", {}) if self.version == "1.0" else ("user", {"kind": "text"})
        return {"messageId": "m-1", "role": role, "parts": [part | {"text": text}], **more}

    def sending(self, text: str = "Hello", **more: Any) -> dict[str, Any]:
        """Returns the params of a send, with these members in its message."""
        return {"message": self.message(text, **more)}

    def send(self, text: str = "Hello", **more: Any) -> dict[str, Any]:
        """Sends a message and returns its task."""
        method = "SendMessage" if self.version == "1.0" else "message/send"
        result: dict[str, Any] = self.result(method, self.sending(text, **more))
        task: dict[str, Any] = result["task"] if self.version == "1.0" else result
        return task


def answer_of(response: Any) -> str:
    """Returns the JSON of a response, or of the only event of a stream."""
    text: str = response.content.decode()
    is_stream = response.headers["Content-Type"] == "text/event-stream"
    return text.removeprefix("data: ") if is_stream else text


def move(task_id: str, to: Task.State, text: str = "") -> Task:
    """Changes the state of the task as a connector would."""
    task, at = Task.objects.get(pk=task_id), timezone.now()
    said = (
        transitions.add_message(task, Message.Source.AGENT, [{"text": text}], at=at)
        if text
        else None
    )
    return transitions.transition(task.pk, to, message=said, at=at)
