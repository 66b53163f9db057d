"""Provides a client that has registered, one that a person has connected, and the sites where
clients keep their metadata documents."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts.models import Agent, User
from tests.accounts.oauth.oauth_client import OAuthClient
from tests.accounts.oauth.sites import Sites, fetcher, serving_sites


@pytest.fixture
def registered(db: None) -> OAuthClient:
    client = OAuthClient()
    assert client.register().status_code == 201
    return client


@pytest.fixture
def tokens(registered: OAuthClient, alice: User, agent: Agent) -> dict[str, Any]:
    """Returns what the token endpoint answered to the registered client, which Alice connected as
    the agent."""
    return registered.tokens(alice, agent)


@pytest.fixture(scope="session")
def _running_sites() -> Iterator[tuple[Sites, ssl.SSLContext]]:
    with serving_sites() as running:
        yield running


@pytest.fixture
def use_sites(_running_sites: tuple[Sites, ssl.SSLContext], settings: Any) -> Callable[..., Sites]:
    """Lets the server find the hosts of clients at a server of this test. Takes the options of
    `sites.fetcher`."""
    found, trust = _running_sites
    found.answers.clear()
    found.receiver.received.clear()

    def use(**options: Any) -> Sites:
        settings.OAUTH2_PROVIDER = {
            **settings.OAUTH2_PROVIDER,
            "CIMD_METADATA_FETCHER": fetcher(found, trust, **options),
        }
        return found

    return use


@pytest.fixture
def sites(use_sites: Callable[..., Sites]) -> Sites:
    return use_sites()
