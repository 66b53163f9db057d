"""Refuses attacks on the authorization server (RFC 9700)."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.cache import cache
from oauth2_provider.models import Application

from accounts.agents import keys
from accounts.models import Agent, ApiKey, OAuthGrant, User
from database.clock import database_now
from tests.accounts.oauth.oauth_client import CALLBACK, OAuthClient, brought_back
from tests.accounts.oauth.test_sign_in import PeoplesClient
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.wake.mcp.client import McpClient

EVIL = "https://evil.example/callback"


def test_a_code_that_comes_twice_disconnects_the_client(
    registered: OAuthClient, alice: User, agent: Agent
) -> None:
    """RFC 6749, 4.1.2"""
    code = registered.consent(alice, agent)["code"]
    got = registered.exchange(code).json()

    assert registered.exchange(code).json()["error"] == "invalid_grant"

    assert PeoplesClient(got["access_token"]).ask("tools/list").status_code == 401
    assert registered.refresh(got["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_refresh_token_that_comes_twice_disconnects_the_client(
    registered: OAuthClient, tokens: dict[str, Any]
) -> None:
    """RFC 9700, 4.14.2"""
    second = registered.refresh(tokens["refresh_token"]).json()

    assert registered.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"

    assert PeoplesClient(second["access_token"]).ask("tools/list").status_code == 401
    assert registered.refresh(second["refresh_token"]).json()["error"] == "invalid_grant"
    assert OAuthGrant.objects.get().key.revoked_at is not None


@pytest.mark.parametrize(
    "parameters",
    [
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": None},
        {"response_type": "token"},
        {"resource": "https://wake.example.com/mcp"},
        {"resource": ["http://127.0.0.1:8000/mcp/people", "https://evil.example/"]},
        {"scope": "everything"},
    ],
)
def test_an_unsafe_request_goes_back_to_the_client_with_an_error(
    registered: OAuthClient, alice: User, agent: Agent, parameters: dict[str, Any]
) -> None:
    page, address = Person(alice).client, registered.address(**parameters)
    fields = {"agent": str(agent.pk), "days": "30", "decision": "connect"}

    for answer in (page.get(address), page.post(address, fields, by_hand=True)):
        back = brought_back(answer, to=CALLBACK)
        assert back["error"] in {
            *("invalid_request", "invalid_target", "invalid_scope"),
            *("unauthorized_client", "unsupported_response_type"),
        }
        assert "code" not in back
    assert not OAuthGrant.objects.exists()


@pytest.mark.parametrize(
    "uri",
    [
        *(EVIL, f"{CALLBACK}/", f"{CALLBACK}?next=https://evil.example", f"{CALLBACK}#x"),
        *("http://client.example/callback", "https://client.example@evil.example/callback"),
        *("javascript:alert(1)", "https://client.example:8443/callback", "//evil.example", ""),
    ],
)
def test_no_one_is_sent_to_an_address_that_the_client_did_not_register(
    registered: OAuthClient, alice: User, uri: str
) -> None:
    answer = Person(alice).client.get(registered.address(redirect_uri=uri))

    assert answer.status_code == 400
    assert "Location" not in answer.headers
    assert "Nothing was connected" in text_of(answer)


def test_no_one_is_sent_anywhere_for_an_unknown_client(alice: User) -> None:
    client = OAuthClient(EVIL)
    client.client_id = "unknown"

    answer = Person(alice).client.get(client.address())

    assert answer.status_code == 400
    assert "Location" not in answer.headers
    assert "Remove Wake in the client, and add it again" in text_of(answer)


def test_the_consent_page_is_in_no_frame_and_posts_to_one_host_only(
    registered: OAuthClient, alice: User
) -> None:
    page = Person(alice).client.get(registered.address())

    policy = page.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://client.example;" in policy
    assert page.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    ("callback", "source"),
    [
        ("http://127.0.0.1:3000/x", "http://127.0.0.1:3000"),
        ("http://[::1]:3000/x", "http:"),
        ("cursor://anysphere.cursor-mcp/x", "cursor:"),
    ],
)
def test_the_page_lets_the_browser_go_back(
    alice: User, agent: Agent, callback: str, source: str
) -> None:
    client = OAuthClient(callback)
    client.register()

    page = Person(alice).client.get(client.address())

    assert f"form-action 'self' {source};" in page.headers["Content-Security-Policy"]


def test_the_page_asks_every_time(
    registered: OAuthClient, alice: User, tokens: dict[str, Any]
) -> None:
    """django-oauth-toolkit would skip the page for `approval_prompt=auto`."""
    page = Person(alice).client.get(registered.address(approval_prompt="auto", prompt="none"))

    assert page.status_code == 200
    assert "Connect Example Chat" in text_of(page)


def test_an_access_token_works_at_its_resource_only(
    tokens: dict[str, Any], caller: AgentClient, key: ApiKey
) -> None:
    token = tokens["access_token"]

    assert McpClient(token).ask("tools/list").status_code == 401
    assert (
        caller.client.get(
            "/wake/v1/responses", headers={"Authorization": f"Bearer {token}"}
        ).status_code
        == 401
    )
    key_text = key.text  # type: ignore[attr-defined]
    assert PeoplesClient(key_text).ask("tools/list").status_code == 401


def test_a_remembered_access_token_is_still_no_key(
    registered: OAuthClient, tokens: dict[str, Any], caller: AgentClient
) -> None:
    """A delivery whose agent changes meanwhile looks the key up again, and remembers it."""
    keys.look_up_again(OAuthGrant.objects.get().key, at=database_now())

    answer = caller.client.get(
        "/wake/v1/responses", headers={"Authorization": f"Bearer {tokens['access_token']}"}
    )

    assert answer.status_code == 401


def test_another_client_cannot_use_a_stolen_code_or_token(
    registered: OAuthClient, alice: User, agent: Agent
) -> None:
    thief = OAuthClient(EVIL)
    thief.register()
    thief.verifier = registered.verifier
    code = registered.consent(alice, agent)["code"]

    assert thief.exchange(code).json()["error"] == "invalid_grant"
    got = registered.exchange(code).json()
    assert thief.refresh(got["refresh_token"]).json()["error"] == "invalid_grant"
    assert thief.revoke(got["refresh_token"]).status_code == 200

    assert PeoplesClient(got["access_token"]).ask("tools/list").status_code == 200


def test_a_code_needs_the_verifier_of_its_request(
    registered: OAuthClient, alice: User, agent: Agent
) -> None:
    code = registered.consent(alice, agent)["code"]
    registered.verifier = "another-verifier-of-at-least-forty-three-letters"

    assert registered.exchange(code).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    "uris",
    [
        *([], ["http://client.example/x"], ["javascript:alert(1)"], ["data:text/html,x"]),
        *(["https://a@client.example/x"], ["https://client.example/#x"], ["/x"], [3], "x"),
        *(["https://evil.example;sandbox/x"], ["http://[::1];sandbox/x"], ["https://a,b/x"]),
        *(["https://evil.example\\.claude.ai/x"], ["https://evil.example%2f.claude.ai/x"]),
        *(["https://client.example:/x"], ["https://a'b/x"], ["https://[::2]/x"]),
        ["https://client.example/x\0"],
    ],
)
def test_an_unsafe_address_is_not_registered(db: None, uris: Any) -> None:
    answer = OAuthClient().register(redirect_uris=uris)

    assert answer.status_code == 400
    assert answer.json()["error"] in {"invalid_redirect_uri", "invalid_client_metadata"}


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 10_000, b"\xff", b'"x"', b"null"])
def test_a_registration_that_is_no_object_is_refused(client: Any, db: None, body: bytes) -> None:
    answer = client.post("/oauth/register", body, content_type="application/json")

    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_client_metadata"


@pytest.mark.parametrize(
    "fields",
    [
        *({}, {"grant_type": "password"}, {"grant_type": "authorization_code"}),
        *({"grant_type": "refresh_token"}, {"grant_type": "authorization_code", "code": "\0"}),
        {"grant_type": "refresh_token", "refresh_token": "x\0"},
    ],
)
def test_a_token_request_that_lacks_something_is_an_error_of_oauth(
    registered: OAuthClient, fields: dict[str, str]
) -> None:
    answer = registered.token(**fields)

    assert answer.status_code in {400, 401}
    assert answer.json()["error"]


@pytest.mark.parametrize("name", ["Chat\u202egpt", "\u0421hatGPT", "x" * 255, " ", "<b>Claude</b>"])
def test_a_name_that_imitates_is_shown_with_its_host(alice: User, agent: Agent, name: str) -> None:
    client = OAuthClient(EVIL, name=name)
    client.register()

    page = Person(alice).client.get(client.address())

    assert page.status_code == 200
    assert "evil.example" in text_of(page)
    assert "\u202e" not in page.content.decode()
    assert "<b>Claude" not in page.content.decode()
    assert "\u0421" not in text_of(page)


ISSUER = "http://127.0.0.1:8000/oauth"


def test_every_answer_names_the_issuer_once(
    registered: OAuthClient, alice: User, agent: Agent
) -> None:
    """RFC 9207: a client that talks to two servers sees from whom an answer is."""
    connect = {"agent": str(agent.pk), "days": "30", "decision": "connect"}
    answers = [
        registered.decide(alice, connect),
        registered.decide(alice, {"decision": "refuse"}),
        Person(alice).client.get(registered.address(scope="everything")),
        Person(alice).client.get(registered.address(code_challenge=None)),
        Person(alice).client.get(registered.address(resource="https://evil.example/mcp")),
        Person(alice).client.get(registered.address(response_type="token")),
    ]

    for answer in answers:
        query = parse_qs(urlsplit(answer.headers["Location"]).query)
        assert query["iss"] == [ISSUER]
        assert query["state"] == ["xyz"]
        assert ("code" in query) != ("error" in query)


def test_an_issuer_in_the_registered_address_gives_way(alice: User, agent: Agent) -> None:
    callback = f"{CALLBACK}?iss=https%3A%2F%2Fevil.example&code=stolen&error=x"
    client = OAuthClient(callback)
    client.register()
    connect = {"agent": str(agent.pk), "days": "30", "decision": "connect"}

    for answer in (
        client.decide(alice, connect),
        client.decide(alice, {"decision": "refuse"}),
        Person(alice).client.get(client.address(scope="everything")),
    ):
        query = parse_qs(urlsplit(answer.headers["Location"]).query)
        assert query["iss"] == [ISSUER]


def test_a_code_is_for_the_address_that_it_went_to(alice: User, agent: Agent) -> None:
    other = "https://client.example/other"
    client = OAuthClient()
    client.register(redirect_uris=[CALLBACK, other])
    for uri in (other, EVIL, "", None):
        code = client.consent(alice, agent)["code"]

        fields = {} if uri is None else {"redirect_uri": uri}
        answer = client.token(
            grant_type="authorization_code", code=code, code_verifier=client.verifier, **fields
        )

        assert answer.status_code == 400
        assert answer.json()["error"] in {"invalid_grant", "invalid_request"}


@pytest.mark.parametrize(
    "resource",
    [
        *("https://evil.example/mcp", "http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000/"),
        *("x", ["http://127.0.0.1:8000/mcp/people", "https://evil.example/mcp"]),
    ],
)
def test_no_token_is_made_for_another_server(
    registered: OAuthClient, alice: User, agent: Agent, resource: Any
) -> None:
    """RFC 8707"""
    code = registered.consent(alice, agent)["code"]
    assert registered.exchange(code, resource=resource).json()["error"] == "invalid_target"
    got = registered.exchange(registered.consent(alice, agent)["code"]).json()

    answer = registered.refresh(got["refresh_token"], resource=resource)

    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_target"


def test_a_refresh_asks_for_no_more_than_was_granted(
    registered: OAuthClient, alice: User, agent: Agent
) -> None:
    got = registered.tokens(alice, agent)

    answer = registered.refresh(got["refresh_token"], scope="deliver offline_access everything")

    assert answer.json()["error"] == "invalid_scope"


def test_a_flood_of_registrations_is_stopped_without_the_cache(db: None) -> None:
    client = OAuthClient()
    made = [client.register().status_code for _ in range(60)]
    cache.clear()

    refused = client.register()

    assert made == [201] * 60
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 3600
    assert refused.json()["error"] == "temporarily_unavailable"
    assert Application.objects.count() == 60


def test_only_its_client_reads_changes_or_removes_a_registration(db: None) -> None:
    """RFC 7592"""
    mine, other = OAuthClient().register().json(), OAuthClient(EVIL).register().json()
    browser = OAuthClient().client
    path = f"/oauth/register/{mine['client_id']}"

    change = {"redirect_uris": [EVIL]}
    for token in (other["registration_access_token"], "x", "", "wk_access_x", "a\u00e9"):
        headers = {"Authorization": f"Bearer {token}"}
        for answer in (
            browser.get(path, headers=headers),
            browser.put(path, change, content_type="application/json", headers=headers),
            browser.delete(path, headers=headers),
        ):
            assert answer.status_code == 401
            assert answer.json()["error"] == "invalid_token"

    assert Application.objects.get(client_id=mine["client_id"]).redirect_uris == CALLBACK


def test_an_access_token_changes_no_registration(
    registered: OAuthClient, tokens: dict[str, Any]
) -> None:
    answer = registered.client.delete(
        f"/oauth/register/{registered.client_id}",
        headers={"Authorization": f"Bearer {tokens['access_token']}"},
    )

    assert answer.status_code == 401
    assert Application.objects.count() == 1


def test_a_client_that_removes_its_registration_is_disconnected(alice: User, agent: Agent) -> None:
    """RFC 7592, 2.3"""
    client = OAuthClient()
    made = client.register().json()
    got = client.tokens(alice, agent)

    answer = client.client.delete(
        f"/oauth/register/{client.client_id}",
        headers={"Authorization": f"Bearer {made['registration_access_token']}"},
    )

    assert answer.status_code == 204
    assert PeoplesClient(got["access_token"]).ask("tools/list").status_code == 401
    assert client.refresh(got["refresh_token"]).status_code == 401
    grant = OAuthGrant.objects.get()
    assert grant.key.revoked_at is not None
    assert grant.application is None


@pytest.mark.parametrize(
    "uri", ["http://[::1]:3000/x", "http://LOCALHOST/x", "https://a_b-c.de:8443"]
)
def test_an_odd_but_safe_address_is_registered(db: None, uri: str) -> None:
    assert OAuthClient().register(redirect_uris=[uri]).status_code == 201


def test_a_registration_is_changed_at_the_origin_of_the_server(db: None, settings: Any) -> None:
    """Behind a proxy, the scheme and the host of the request are not those of the server."""
    settings.WAKE_ORIGIN = "https://wake.example.com"
    client = OAuthClient()
    made = client.register()
    path = f"/oauth/register/{client.client_id}"
    headers = {"Authorization": f"Bearer {made.json()['registration_access_token']}"}
    change = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    read = client.client.get(path, headers=headers)
    changed = client.client.put(path, change, content_type="application/json", headers=headers)

    for answer in (made, read, changed):
        assert answer.json()["registration_client_uri"] == f"https://wake.example.com{path}"
        assert answer.headers["Cache-Control"] == "no-store"


def test_a_host_that_imitates_another_is_not_registered(db: None) -> None:
    for uri in ("https://\u0441laude.ai/callback", "https://claude.ai\uff0fx/callback"):
        answer = OAuthClient().register(redirect_uris=[uri])

        assert answer.status_code == 400
        assert answer.json()["error"] == "invalid_redirect_uri"
