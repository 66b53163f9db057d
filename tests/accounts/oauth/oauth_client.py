"""Imitates a client that signs in by OAuth, as the SDKs of MCP do."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.conf import settings

from accounts.models import User
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person

CALLBACK = "https://client.example/callback"


class OAuthClient:
    def __init__(self, callback: str = CALLBACK, *, name: str = "Example Chat") -> None:
        self.client = Client(raise_request_exception=False)
        self.callback, self.name = callback, name
        self.client_id = self.client_secret = ""
        self.verifier = secrets.token_urlsafe(48)

    def register(self, **metadata: Any) -> Any:
        """Registers the client (RFC 7591)."""
        sent = {
            "client_name": self.name,
            "redirect_uris": [self.callback],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
            **metadata,
        }
        answer = self.client.post("/oauth/register", sent, content_type="application/json")
        if answer.status_code == 201:
            self.client_id = answer.json()["client_id"]
            self.client_secret = answer.json().get("client_secret", "")
        return answer

    def address(self, **parameters: Any) -> str:
        """Returns the address that the client opens in the person's browser. None leaves a
        parameter out."""
        asked = self.parameters(**parameters)
        return self.opened({name: value for name, value in asked.items() if value is not None})

    def opened(self, query: dict[str, Any]) -> str:
        return "/oauth/authorize?" + urlencode(query, doseq=True)

    def parameters(self, **parameters: Any) -> dict[str, Any]:
        """Returns the parameters of the request, with these changes."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.callback,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "state": "xyz",
            "scope": "deliver offline_access",
            "resource": settings.WAKE_OAUTH_RESOURCE,
            **parameters,
        }

    def consent(self, person: User, agent: Any, **parameters: Any) -> dict[str, str]:
        """Lets the person connect this client as an agent of theirs. Returns the parameters that
        the browser brings back."""
        answer = self.decide(
            person, {"agent": str(agent.pk), "days": "30", "decision": "connect"}, **parameters
        )
        assert answer.status_code == 302, answer.content.decode()
        return brought_back(answer, to=self.callback)

    def decide(self, person: User, fields: dict[str, str], **parameters: Any) -> Any:
        """Opens the consent page as the person, and sends its form."""
        browser, address = Person(person).client, self.address(**parameters)
        browser.get(address)
        return browser.post(address, fields)

    def exchange(self, code: str, **fields: Any) -> Any:
        return self.token(
            grant_type="authorization_code",
            code=code,
            redirect_uri=self.callback,
            code_verifier=self.verifier,
            **fields,
        )

    def refresh(self, refresh_token: str, **fields: Any) -> Any:
        return self.token(grant_type="refresh_token", refresh_token=refresh_token, **fields)

    def token(self, **fields: Any) -> Any:
        sent = {"client_id": self.client_id, **fields}
        if self.client_secret:
            sent["client_secret"] = self.client_secret
        return self._form("/oauth/token", sent)

    def revoke(self, token: str) -> Any:
        return self._form("/oauth/revoke", {"client_id": self.client_id, "token": token})

    def tokens(self, person: User, agent: Any, **parameters: Any) -> dict[str, Any]:
        """Signs in from the beginning to the end."""
        if not self.client_id:
            self.register()
        code = self.consent(person, agent, **parameters)["code"]
        answer = self.exchange(code)
        assert answer.status_code == 200, answer.content
        got: dict[str, Any] = answer.json()
        return got

    def _form(self, path: str, fields: dict[str, Any]) -> Any:
        content = urlencode(fields, doseq=True)
        return self.client.post(path, content, content_type="application/x-www-form-urlencoded")


def brought_back(answer: Any, *, to: str) -> dict[str, str]:
    """Returns the parameters with which the browser comes back to the client."""
    location = answer.headers["Location"]
    assert location.partition("?")[0] == to
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
