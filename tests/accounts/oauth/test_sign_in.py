"""A client signs in by OAuth, delivers as the agent that a person chose, and stays connected."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent, OAuthGrant, User
from database.clock import database_now
from tests.accounts.oauth.oauth_client import CALLBACK, OAuthClient, brought_back
from tests.inbox.person import Person, text_of
from tests.wake.mcp.client import McpClient
from wake.models import Delivery


class PeoplesClient(McpClient):
    path = "/mcp/people"


def test_a_client_finds_where_people_sign_in(client: Any, settings: Any) -> None:
    refused = PeoplesClient("").ask("tools/list")
    assert refused.status_code == 401
    assert "For the key of an agent, use the address /mcp" in refused.json()["error"]["message"]
    challenge = refused.headers["WWW-Authenticate"]
    assert (
        'resource_metadata="http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp/people"'
        in challenge
    )

    resource = client.get("/.well-known/oauth-protected-resource/mcp/people").json()
    assert resource["resource"] == settings.WAKE_OAUTH_RESOURCE
    (issuer,) = resource["authorization_servers"]
    server = client.get("/.well-known/oauth-authorization-server/oauth").json()
    assert server["issuer"] == issuer
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["response_types_supported"] == ["code"]
    assert server["client_id_metadata_document_supported"] is True
    assert server["authorization_response_iss_parameter_supported"] is True
    assert server["registration_endpoint"] == "http://127.0.0.1:8000/oauth/register"


@pytest.mark.parametrize(
    "path",
    [
        *("oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server"),
        *("oauth-authorization-server/mcp", "openid-configuration", "openid-configuration/mcp"),
    ],
)
def test_nothing_says_that_mcp_takes_oauth(client: Any, path: str) -> None:
    """Cursor ignores a configured key if the server answers one of these addresses."""
    assert client.get(f"/.well-known/{path}").status_code == 404


def test_a_client_delivers_as_the_agent_that_a_person_chose(
    registered: OAuthClient, alice: User, agent: Agent
) -> None:
    back = registered.consent(alice, agent)
    assert back["iss"] == "http://127.0.0.1:8000/oauth"
    assert back["state"] == "xyz"

    got = registered.exchange(back["code"]).json()

    assert (got["token_type"], got["expires_in"]) == ("Bearer", 900)
    assert set(got["scope"].split()) == {"deliver", "offline_access"}
    receipt = PeoplesClient(got["access_token"]).structured(
        "deliver", type="update", headline="Tanks are full", summary="All four."
    )
    delivery = Delivery.objects.get(pk=receipt["delivery_id"])
    assert delivery.agent == agent
    assert delivery.agent_id == agent.pk


def test_a_person_registers_a_new_agent_for_the_client(
    registered: OAuthClient, alice: User
) -> None:
    page = Person(alice).client
    address = registered.address()
    shown = page.get(address)
    assert "example-chat-alice" in shown.content.decode()
    assert "client.example" in text_of(shown)

    fields = {
        "agent": "new:garden",
        "agent_id": "example-chat-alice",
        "days": "",
        "decision": "connect",
    }
    code = brought_back(page.post(address, fields), to=CALLBACK)["code"]

    assert registered.exchange(code).status_code == 200
    grant = OAuthGrant.objects.get()
    assert grant.key.agent.agent_id == "example-chat-alice"
    assert (grant.client_name, grant.client_host) == ("Example Chat", "client.example")
    assert grant.ends_at is None
    event = AuditEvent.objects.get(event="client.connected")
    assert event.detail["client"] == "Example Chat"


def test_a_refreshed_token_replaces_the_one_before(
    registered: OAuthClient, tokens: dict[str, Any]
) -> None:
    answer = registered.refresh(tokens["refresh_token"])

    assert answer.status_code == 200
    assert ApiKey.objects.count() == 1
    assert PeoplesClient(tokens["access_token"]).ask("tools/list").status_code == 401
    assert PeoplesClient(answer.json()["access_token"]).ask("tools/list").status_code == 200


def test_a_token_ends_after_its_time(tokens: dict[str, Any]) -> None:
    ApiKey.objects.update(expires_at=database_now() - timedelta(seconds=1))

    assert PeoplesClient(tokens["access_token"]).ask("tools/list").status_code == 401


def test_a_client_without_offline_access_gets_no_refresh_token(
    registered: OAuthClient, alice: User, agent: Agent
) -> None:
    got = registered.tokens(alice, agent, scope="deliver")

    assert "refresh_token" not in got
    assert got["scope"] == "deliver"
    assert PeoplesClient(got["access_token"]).ask("tools/list").status_code == 200


def test_a_person_refuses(registered: OAuthClient, alice: User) -> None:
    answer = registered.decide(alice, {"decision": "refuse"})

    back = brought_back(answer, to=CALLBACK)
    assert back["error"] == "access_denied"
    assert back["state"] == "xyz"
    assert back["iss"] == "http://127.0.0.1:8000/oauth"
    assert not OAuthGrant.objects.exists()


def test_a_client_that_revokes_its_token_is_disconnected(
    registered: OAuthClient, tokens: dict[str, Any]
) -> None:
    assert registered.revoke(tokens["refresh_token"]).status_code == 200

    assert PeoplesClient(tokens["access_token"]).ask("tools/list").status_code == 401
    assert registered.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert OAuthGrant.objects.get().key.revoked_at is not None


def test_a_key_that_an_owner_revokes_ends_the_client(
    registered: OAuthClient, tokens: dict[str, Any]
) -> None:
    keys.revoke(ApiKey.objects.get(), by=SYSTEM, at=database_now())

    assert PeoplesClient(tokens["access_token"]).ask("tools/list").status_code == 401
    assert registered.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_person_who_left_the_team_takes_their_clients_along(
    registered: OAuthClient, alice: User, tokens: dict[str, Any]
) -> None:
    alice.memberships.all().delete()

    assert PeoplesClient(tokens["access_token"]).ask("tools/list").status_code == 401
    assert registered.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_client_with_a_secret_must_send_it(alice: User, agent: Agent) -> None:
    client = OAuthClient()
    client.register(token_endpoint_auth_method="client_secret_post")
    assert client.client_secret
    code = client.consent(alice, agent)["code"]

    secret, client.client_secret = client.client_secret, "wrong"
    assert client.exchange(code).json()["error"] == "invalid_client"
    client.client_secret = secret
    assert client.exchange(code).status_code == 200
