"""Each client of MCP signs in as it does by its makers' documents, and lists the tools."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from accounts.models import Agent, ApiKey, User
from database.clock import database_now
from tests.accounts.oauth.connectors import (
    CONNECTORS,
    OF_SERVER,
    RESOURCE,
    Connector,
    challenge_of,
    takes_documents,
)
from tests.accounts.oauth.oauth_client import OAuthClient
from tests.accounts.oauth.sites import Sites
from tests.accounts.oauth.test_sign_in import PeoplesClient
from wake.mcp.tools import TOOLS


class Double(OAuthClient):
    """Signs in as one connector does."""

    def __init__(self, connector: Connector) -> None:
        super().__init__(connector.redirect_uri)
        self.connector = connector
        self.client.defaults.update(_as_environment(connector.headers))

    def probe(self) -> None:
        for method, path, status in self.connector.probes:
            answer = getattr(self.client, method)(path)
            assert answer.status_code == status, f"{method} {path}"
            if status == 401:
                self._follow(challenge_of(answer)("resource_metadata"))

    def _follow(self, address: str) -> None:
        """Reads the metadata as the challenge leads to it. The challenge has a whole address."""
        assert address.startswith("http://127.0.0.1:8000/.well-known/")
        resource = self.client.get(urlsplit(address).path).json()
        assert resource["resource"] == RESOURCE
        issuer, *others = resource["authorization_servers"]
        assert others == []
        server = self.client.get(OF_SERVER).json()
        assert server["issuer"] == issuer
        assert "S256" in server["code_challenge_methods_supported"]
        assert takes_documents(server)
        assert "private_key_jwt" not in server["token_endpoint_auth_methods_supported"]

    def identify(self, sites: Sites) -> None:
        if self.connector.document is not None:
            self.client_id = sites.publish(self.connector.document)
            return
        answer = self.register(**(self.connector.registration or {}))
        assert answer.status_code == 201, answer.content

    def address(self, **parameters: Any) -> str:
        asked = super().parameters(**{**self.connector.asks, **parameters})
        return self.opened(self.connector.with_order(asked))


def _as_environment(headers: dict[str, str]) -> dict[str, str]:
    return {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}


@pytest.mark.parametrize("connector", CONNECTORS, ids=lambda each: each.name)
def test_a_connector_signs_in_and_stays_connected(
    sites: Sites, alice: User, agent: Agent, connector: Connector
) -> None:
    double = Double(connector)
    double.probe()
    double.identify(sites)

    back = double.consent(alice, agent)
    assert back["iss"] == "http://127.0.0.1:8000/oauth"
    assert back["state"] == connector.asks.get("state", "xyz")
    got = double.exchange(back["code"], **connector.exchanges).json()
    assert tools_of(got) == list(TOOLS)

    ApiKey.objects.update(expires_at=database_now() - timedelta(seconds=1))
    ended = PeoplesClient(got["access_token"]).ask("tools/list")
    assert ended.status_code == 401
    assert challenge_of(ended)("error") == "invalid_token"
    again = double.refresh(got["refresh_token"], **connector.refreshes)

    assert again.status_code == 200, again.content
    assert tools_of(again.json()) == list(TOOLS)
    assert again.json()["refresh_token"] != got["refresh_token"]


def tools_of(tokens: dict[str, Any]) -> list[str]:
    listed = PeoplesClient(tokens["access_token"]).result("tools/list")
    return [tool["name"] for tool in listed["tools"]]


def test_a_client_assertion_that_was_not_asked_for_is_ignored(
    sites: Sites, alice: User, agent: Agent
) -> None:
    """ChatGPT prefers `private_key_jwt`, and could send its assertion all the same."""
    chatgpt = next(each for each in CONNECTORS if each.name == "ChatGPT")
    double = Double(chatgpt)
    double.identify(sites)
    back = double.consent(alice, agent)

    answer = double.exchange(
        back["code"],
        client_assertion="eyJhbGciOiJSUzI1NiJ9.e30.x",
        client_assertion_type="urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        **chatgpt.exchanges,
    )

    assert answer.status_code == 200


def test_a_client_whose_registration_is_gone_learns_that_it_is_unknown(
    registered: OAuthClient, alice: User, agent: Agent
) -> None:
    """Claude then registers again."""
    got = registered.tokens(alice, agent)
    registered.client_id = "gone"

    answer = registered.refresh(got["refresh_token"])

    assert answer.status_code == 401
    assert answer.json()["error"] == "invalid_client"
