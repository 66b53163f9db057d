"""Sends hostile values to every endpoint of the authorization server. No answer is a
server error."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlencode

import pytest
from oauth2_provider.models import Grant

from accounts.models import Agent, OAuthGrant, User
from tests.accounts.oauth.oauth_client import OAuthClient
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person

FORM = "application/x-www-form-urlencoded"
ODD = {
    "U+0000": "a\0b",
    "long": "x" * 40_000,
    "empty": "",
    "odd": "\u202e\ufeff\U0001f600'\"<>%&;\\",
    "lines": "a\r\nLocation: https://evil.example",
}
OF_AUTHORIZE = [
    *("response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method"),
    *("state", "scope", "resource", "prompt", "nonce", "claims", "ui_locales", "max_age"),
    *("response_mode", "request", "request_uri", "id_token_hint", "approval_prompt", "display"),
]
OF_TOKEN = [
    *("grant_type", "code", "redirect_uri", "client_id", "client_secret", "code_verifier"),
    *("refresh_token", "scope", "resource", "client_assertion", "client_assertion_type"),
    *("username", "password", "device_code"),
]
ENDPOINTS = [
    *("/oauth/authorize", "/oauth/token", "/oauth/revoke", "/oauth/register"),
    *("/oauth/register/abc", "/.well-known/oauth-authorization-server/oauth"),
    *("/.well-known/oauth-protected-resource/mcp/people", "/mcp/people"),
]


@pytest.mark.parametrize("value", ODD.values(), ids=list(ODD))
@pytest.mark.parametrize("name", OF_AUTHORIZE)
def test_no_parameter_breaks_the_consent_page(
    registered: OAuthClient, alice: User, agent: Agent, name: str, value: str
) -> None:
    browser = Person(alice).client
    browser.raise_request_exception = False
    address = registered.address(**{name: value})
    fields = {"agent": str(agent.pk), "days": "30", "decision": "connect"}

    shown, posted = browser.get(address), browser.post(address, fields, by_hand=True)

    assert {shown.status_code, posted.status_code} <= {200, 302, 400}
    for stored in Grant.objects.all():
        assert len(stored.code_challenge) == 43
        assert not stored.nonce
    if posted.status_code == 302:
        assert posted.headers["Location"].startswith(f"{registered.callback}?")


@pytest.mark.parametrize("value", ODD.values(), ids=list(ODD))
@pytest.mark.parametrize("name", OF_TOKEN)
@pytest.mark.parametrize("kind", ["authorization_code", "refresh_token"])
def test_no_parameter_breaks_the_token_endpoint(
    registered: OAuthClient, alice: User, agent: Agent, name: str, value: str, kind: str
) -> None:
    if kind == "refresh_token":
        fields = {"refresh_token": registered.tokens(alice, agent)["refresh_token"]}
    else:
        fields = {
            "code": registered.consent(alice, agent)["code"],
            "redirect_uri": registered.callback,
            "code_verifier": registered.verifier,
        }

    answer = registered.token(**{"grant_type": kind, **fields, name: value})

    assert answer.status_code in {200, 400, 401}
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "error" in answer.json() or answer.json()["access_token"]


@pytest.mark.parametrize("value", ODD.values(), ids=list(ODD))
@pytest.mark.parametrize("name", ["token", "token_type_hint", "client_id", "client_secret"])
def test_no_parameter_breaks_the_revocation(
    registered: OAuthClient, tokens: dict[str, Any], name: str, value: str
) -> None:
    sent = {"client_id": registered.client_id, "token": tokens["access_token"], name: value}

    answer = registered.client.post("/oauth/revoke", urlencode(sent), content_type=FORM)

    assert answer.status_code in {200, 400, 401}


@pytest.mark.parametrize("value", [*ODD.values(), None, 3, [], {}, ["x"], [None], "\ud800"])
@pytest.mark.parametrize(
    "name",
    [
        *("redirect_uris", "client_name", "grant_types", "token_endpoint_auth_method"),
        *("response_types", "scope", "client_uri", "software_id", "jwks", "contacts"),
    ],
)
def test_no_value_breaks_the_registration(db: None, name: str, value: Any) -> None:
    answer = OAuthClient().register(**{name: value})

    assert answer.status_code in {201, 400, 413}
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("endpoint", ["/oauth/token", "/oauth/revoke"])
@pytest.mark.parametrize(
    "credentials",
    [
        *(b"", b"x", b"x:y", b"a\0b:c", b"%00:%00", b"\xff:\xfe", b":", b"x" * 5_000 + b":y"),
        b"https://client.example/c.json:x",
    ],
)
def test_no_basic_credentials_break_an_endpoint(
    registered: OAuthClient, endpoint: str, credentials: bytes
) -> None:
    basic = "Basic " + base64.b64encode(credentials).decode()

    answer = registered.client.post(
        endpoint,
        urlencode({"grant_type": "refresh_token", "refresh_token": "x", "token": "x"}),
        content_type=FORM,
        headers={"Authorization": basic},
    )

    assert answer.status_code in {400, 401}
    assert answer.json()["error"] in {"invalid_client", "invalid_grant", "invalid_request"}


@pytest.mark.parametrize(
    "header", ["Basic", "Basic ", "Basic %%%", "Bearer x", "Basic \u00e9", "x"]
)
def test_no_authorization_header_breaks_the_token_endpoint(
    registered: OAuthClient, header: str
) -> None:
    answer = registered.client.post(
        "/oauth/token",
        urlencode({"grant_type": "refresh_token", "refresh_token": "x", "client_id": "y"}),
        content_type=FORM,
        headers={"Authorization": header},
    )

    assert answer.status_code in {400, 401}


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data", "text/plain", "x", ""])
def test_no_type_of_content_breaks_the_token_endpoint(registered: OAuthClient, kind: str) -> None:
    answer = registered.client.post("/oauth/token", b'{"grant_type": "x"}', content_type=kind)

    assert answer.status_code == 400


@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "patch", "options", "trace"])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_no_method_breaks_an_endpoint(db: None, endpoint: str, method: str) -> None:
    client = Client(raise_request_exception=False)

    answer = getattr(client, method)(endpoint)

    assert answer.status_code in {200, 302, 400, 401, 405}
    if method not in {"get", "head", "options"} and "well-known" in endpoint:
        assert answer.status_code == 405
    if method == "head":
        assert answer.content == b""


def test_a_challenge_of_another_form_is_refused(registered: OAuthClient, alice: User) -> None:
    """RFC 7636, 4.2: the challenge is the base64url form of a SHA-256."""
    for challenge in ("x", "x" * 42, "x" * 44, "x" * 42 + "=", "x" * 42 + "+"):
        answer = Person(alice).get(registered.address(code_challenge=challenge))

        assert answer.status_code == 302
        assert "error=invalid_request" in answer.headers["Location"]
    assert not OAuthGrant.objects.exists()
