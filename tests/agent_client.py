"""Provides an agent that calls the server over HTTP."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from accounts.models import ApiKey


class AgentClient:
    """Sends JSON as an agent and returns Django's test response."""

    def __init__(self, key: ApiKey, agent_id: str) -> None:
        self.key = key
        self.agent_id = agent_id
        self.client = Client(raise_request_exception=False)
        self.headers = {"Authorization": f"Bearer {key.text}"}  # type: ignore[attr-defined]

    def payload(self, **fields: Any) -> dict[str, Any]:
        return {
            "agent_id": self.agent_id,
            "provider": "claude",
            "type": "output",
            "headline": "Market report ready for your review",
            "summary": "Analysed the ten largest competitors.",
            **fields,
        }

    def post(self, body: Any, **headers: str) -> Any:
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.client.post(
            "/wake/v1/deliver",
            content,
            content_type="application/json",
            headers={**self.headers, **headers},
        )

    def deliver(self, **fields: Any) -> str:
        """Delivers and returns the id."""
        answer = self.post(self.payload(**fields))
        assert answer.status_code == 201, answer.content
        return str(answer.json()["delivery_id"])

    def upload(self, content: bytes, content_type: str) -> Any:
        """Uploads a file as the body of the request."""
        return self.client.generic(
            "POST", "/wake/v1/blobs", content, content_type=content_type, headers=self.headers
        )

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/wake/v1/{path}", query, headers=self.headers)

    def poll(self, delivery_id: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.get(f"response/{delivery_id}").json()
        return answer

    def sweep(self, **query: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.get("responses", **query).json()
        return answer
