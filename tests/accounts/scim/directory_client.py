"""Plays the company's directory: sends the requests of SCIM with its token."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client  # noqa: TID251 - a machine has no pages with tokens

TOKEN = "the-token-of-the-directory-0123456789"
CORE = "urn:ietf:params:scim:schemas:core:2.0"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


class Directory:
    def __init__(self, token: str = TOKEN) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {token}"} if token else {})
        self.status = 0
        self.headers: Any = {}

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Returns the body of the answer, or None if it has none."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = self.client.generic(
            method,
            f"/scim/v2{path}",
            b"" if body is None else content,
            content_type="application/scim+json",
            query_params=query or None,
        )
        self.status, self.headers = answer.status_code, answer.headers
        return json.loads(answer.content) if answer.content else None

    def add_user(self, user_name: str = "nora@corp.example", **attributes: Any) -> str:
        """Returns the id of the new account."""
        body = {
            "schemas": [f"{CORE}:User"],
            "userName": user_name,
            "externalId": "n-1",
            "emails": [{"value": user_name, "type": "work", "primary": True}],
            "active": True,
        }
        found = self.ask("POST", "/Users", body | attributes)
        assert self.status == 201, found
        return str(found["id"])

    def add_group(self, name: str, *members: str, **attributes: Any) -> str:
        body = {
            "schemas": [f"{CORE}:Group"],
            "displayName": name,
            "members": [{"value": member} for member in members],
        }
        found = self.ask("POST", "/Groups", body | attributes)
        assert self.status == 201, found
        return str(found["id"])

    def patch(self, path: str, *operations: dict[str, Any]) -> Any:
        return self.ask("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)})

    def deactivate(self, pk: str) -> None:
        self.patch(f"/Users/{pk}", {"op": "replace", "value": {"active": False}})
        assert self.status == 200
