"""Pages of other origins read the metadata, and get no token: `/mcp/people` would refuse them, too.

RFC 9700 (section 2.6) leaves this to the server, but for the consent page, where it forbids more.
MCP's transport has servers refuse an `Origin` that is not theirs."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Agent, User
from tests.accounts.oauth.oauth_client import OAuthClient
from tests.accounts.oauth.test_sign_in import PeoplesClient
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person

ELSEWHERE = "http://localhost:6274"
ALLOWS = "Access-Control-Allow-Origin"
PREFLIGHT = {
    "Origin": ELSEWHERE,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type",
}


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/oauth-protected-resource/mcp/people",
        "/.well-known/oauth-authorization-server/oauth",
    ],
)
def test_any_page_may_read_the_metadata(db: None, path: str) -> None:
    answer = Client().get(path, headers={"Origin": ELSEWHERE})

    assert answer.status_code == 200
    assert answer.headers[ALLOWS] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        *("/oauth/authorize", "/oauth/token", "/oauth/revoke", "/oauth/register"),
        *("/oauth/register/abc", "/oauth/device", "/mcp/people", "/mcp"),
    ],
)
def test_a_page_of_another_origin_may_call_nothing_else(db: None, path: str) -> None:
    for answer in (
        Client().options(path, headers=PREFLIGHT),
        Client().get(path, headers={"Origin": ELSEWHERE}),
    ):
        assert not [name for name in answer.headers if name.startswith("Access-Control-")]


def test_a_token_of_a_page_of_another_origin_is_of_no_use(
    registered: OAuthClient, alice: User, agent: Agent, tokens: dict[str, Any]
) -> None:
    answer = PeoplesClient(tokens["access_token"]).ask("tools/list", Origin=ELSEWHERE)

    assert answer.status_code == 403
    assert ALLOWS not in answer.headers


def test_a_program_that_sends_an_origin_gets_its_token(
    registered: OAuthClient, alice: User, agent: Agent
) -> None:
    """Editors that are made of a browser send one."""
    code = registered.consent(alice, agent)["code"]
    registered.client.defaults["HTTP_ORIGIN"] = "vscode-file://vscode-app"

    got = registered.exchange(code)

    assert got.status_code == 200
    assert ALLOWS not in got.headers
    assert registered.refresh(got.json()["refresh_token"]).status_code == 200


def test_the_consent_page_allows_no_other_page_to_read_it(
    registered: OAuthClient, alice: User
) -> None:
    page = Person(alice).client.get(registered.address(), headers={"Origin": ELSEWHERE})

    assert page.status_code == 200
    assert ALLOWS not in page.headers
