"""The official SDKs sign in by OAuth at the real server, call a tool, refresh their token, and stop
when an owner ends their grant."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, OAuthGrant, User
from database.clock import database_now
from tests.accounts.oauth.consenting import Consent, parameters_of, served_at_its_origin
from tests.fixtures.peers import command
from wake.mcp.tools import TOOLS
from wake.models import Delivery

pytestmark = [pytest.mark.system, pytest.mark.django_db(transaction=True)]
CALLBACK = "http://127.0.0.1:33999/callback"
UPDATE = {"type": "update", "headline": "Tanks are full", "summary": "All four."}
PEERS = Path(__file__).parents[2] / "wake" / "mcp" / "peers"


def end_access_token() -> None:
    ApiKey.objects.update(expires_at=database_now() - timedelta(seconds=1))


def end_grant() -> None:
    keys.revoke(ApiKey.objects.get(revoked_at__isnull=True), by=SYSTEM, at=database_now())


class Storage:
    """Keeps what the SDK of Python stores."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class NoPerson(Exception):
    """The client opened a browser, and the person did not come back."""


class PythonClient:
    """Signs in with the SDK of Python, generation 2."""

    def __init__(self, origin: str, consent: Consent, method: str | None) -> None:
        self.url, self.consent = f"{origin}/mcp/people", consent
        self.storage = Storage()
        self.opened: list[str] = []
        self.is_person_there = True
        self.provider = OAuthClientProvider(
            self.url,
            OAuthClientMetadata(
                client_name="Python SDK",
                redirect_uris=[AnyUrl(CALLBACK)],
                token_endpoint_auth_method=method,  # type: ignore[arg-type]
            ),
            self.storage,
            redirect_handler=self._open,
            callback_handler=self._come_back,
        )

    async def _open(self, address: str) -> None:
        self.opened.append(address)

    async def _come_back(self) -> AuthorizationCodeResult:
        if not self.is_person_there:
            raise NoPerson
        back = await asyncio.to_thread(self.consent.give, self.opened[-1])
        return AuthorizationCodeResult.model_validate(parameters_of(back))

    def call(self, tool: str, **arguments: Any) -> Any:
        async def session() -> Any:
            async with (
                httpx2.AsyncClient(auth=self.provider, timeout=60) as http,
                Client(streamable_http_client(self.url, http_client=http)) as client,
            ):
                names = [each.name for each in (await client.list_tools()).tools]
                assert names == list(TOOLS)
                return await client.call_tool(tool, arguments)

        return asyncio.run(session())

    def expire(self) -> None:
        """Lets the SDK know that its token has ended, as after 15 minutes."""
        self.provider.context.token_expiry_time = time.time() - 1


@pytest.mark.parametrize("method", [None, "none", "client_secret_post", "client_secret_basic"])
def test_the_sdk_of_python_signs_in(alice: User, agent: Agent, method: str | None) -> None:
    with served_at_its_origin("asgi" if method else "wsgi") as origin:
        client = PythonClient(origin, Consent(alice, agent), method)

        result = client.call("deliver", **UPDATE)
        assert not result.is_error
        assert Delivery.objects.get().agent_id == agent.pk
        assert parameters_of(client.opened[0])["resource"] == f"{origin}/mcp/people"
        assert OAuthGrant.objects.get().client_name == "Python SDK"

        end_access_token()
        client.expire()
        before = client.storage.tokens
        assert not client.call("answers").is_error
        assert before
        assert client.storage.tokens
        assert client.storage.tokens.access_token != before.access_token
        assert len(client.opened) == 1

        end_grant()
        client.expire()
        client.is_person_there = False
        with pytest.raises(BaseExceptionGroup) as failure:
            client.call("answers")
        assert failure.group_contains(NoPerson)
        assert len(client.opened) == 2

        client.is_person_there = True
        assert not client.call("answers").is_error


class Peer:
    """Talks to a script that signs in with an SDK of JavaScript. Each line is a value of JSON."""

    def __init__(self, peer: str, origin: str) -> None:
        self.process = subprocess.Popen(
            [*command(PEERS / peer, "oauth"), f"{origin}/mcp/people", CALLBACK],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def read(self) -> Any:
        assert self.process.stdout
        assert self.process.stderr
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def send(self, value: Any) -> None:
        assert self.process.stdin
        print(json.dumps(value), file=self.process.stdin, flush=True)


@pytest.mark.parametrize("peer", ["js_1", "js_2"])
def test_the_sdk_of_javascript_signs_in(peer: str, alice: User, agent: Agent) -> None:
    consent = Consent(alice, agent)
    with served_at_its_origin("asgi") as origin, Peer(peer, origin) as client:
        opened = client.read()["open"]
        assert parameters_of(opened)["resource"] == f"{origin}/mcp/people"
        client.send(consent.give(opened))

        assert client.read() == {"tools": list(TOOLS)}
        client.send(["deliver", UPDATE])
        assert client.read()["isError"] is False
        assert Delivery.objects.get().agent_id == agent.pk

        digest = ApiKey.objects.get().digest
        end_access_token()
        client.send(["answers", {}])
        assert client.read()["isError"] is False
        assert ApiKey.objects.get().digest != digest

        end_grant()
        client.send(["answers", {}])
        assert client.read()["open"].startswith(f"{origin}/oauth/authorize?")
        assert client.read()["error"] == "UnauthorizedError"
