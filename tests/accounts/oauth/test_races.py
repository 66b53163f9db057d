"""Gives tokens to only one of several requests with the same code or token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from accounts.models import Agent, User
from tests.accounts.oauth.oauth_client import OAuthClient

pytestmark = pytest.mark.django_db(transaction=True)
HANDS = 4


@pytest.fixture
def client_of_alice(alice: User) -> OAuthClient:
    client = OAuthClient()
    client.register()
    return client


def at_once(request: Callable[[], Any]) -> list[Any]:
    """Sends the request from several threads at the same moment. Returns the answers."""
    together = Barrier(HANDS)

    def send(_: int) -> Any:
        try:
            together.wait(timeout=30)
            return request()
        finally:
            connection.close()

    with ThreadPoolExecutor(HANDS) as pool:
        return list(pool.map(send, range(HANDS)))


def only_one_won(answers: list[Any]) -> None:
    assert Counter(each.status_code for each in answers) == {200: 1, 400: HANDS - 1}
    for each in answers:
        got = each.json()
        if each.status_code == 200:
            assert got["access_token"].startswith("wk_access_")
            assert got["refresh_token"].startswith("wk_refresh_")
        else:
            assert got["error"] == "invalid_grant"
            assert "access_token" not in got


def hand(client: OAuthClient) -> OAuthClient:
    """Returns the same client in another connection."""
    other = OAuthClient(client.callback)
    other.client_id, other.verifier = client.client_id, client.verifier
    return other


def test_a_code_that_several_exchange_at_once(
    client_of_alice: OAuthClient, alice: User, agent: Agent
) -> None:
    code = client_of_alice.consent(alice, agent)["code"]

    only_one_won(at_once(lambda: hand(client_of_alice).exchange(code)))


def test_a_refresh_token_that_several_use_at_once(
    client_of_alice: OAuthClient, alice: User, agent: Agent
) -> None:
    token = client_of_alice.tokens(alice, agent)["refresh_token"]

    only_one_won(at_once(lambda: hand(client_of_alice).refresh(token)))
