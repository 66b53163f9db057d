"""A foreign page in a person's browser cannot use the server on their machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent
from relay.cards.publishing import publish
from relay.models import Card, Task
from tests.fixtures.served import served
from tests.spec.http.test_production import PRODUCTION

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = "https://evil.example"
JSON = {"Content-Type": "application/json", "A2A-Version": "1.0"}
MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Do this."}]}
BODY = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": MESSAGE}}
)


@pytest.fixture
def public(agent: Agent) -> Card:
    card = publish(agent, by=SYSTEM, at=timezone.now())
    card.access = Card.Access.PUBLIC
    card.save(update_fields=["access"])
    return card


@pytest.fixture(params=["asgi", "wsgi"])
def client(public: Card, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """Yields a client of a development server at loopback."""
    with (
        served(request.param, WAKE_A2A_WAIT_SECONDS="0") as origin,
        httpx.Client(base_url=origin, timeout=60) as client,
    ):
        yield client


def test_a_page_of_another_site_cannot_call_a_public_agent(
    client: httpx.Client, public: Card, subtests: pytest.Subtests
) -> None:
    def post(**headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.post(f"/{public}", content=BODY, headers={"A2A-Version": "1.0", **named})

    with subtests.test("its Origin"):
        for origin in (EVIL, "null", "http://127.0.0.1:1"):
            assert post(Origin=origin, Content_Type="application/json").status_code == 403
    with subtests.test("its Host, which it had pointed to this machine"):
        for path in (f"/{public}", "/wake/v1", "/connect/v1/poll"):
            answer = client.post(path, content=BODY, headers={**JSON, "Host": "evil.example"})
            assert answer.status_code == 400
    with subtests.test("a type that it may send without asking"):
        for kind in ("text/plain", ""):
            refused: Any = post(Content_Type=kind).json()
            assert refused["error"]["code"] == -32005, refused
    assert not Task.objects.exists()

    own = str(client.base_url).rstrip("/")
    assert "result" in post(Origin=own, Content_Type="application/json").json()
    assert Task.objects.count() == 1


def test_production_refuses_unknown_host_names(db: None) -> None:
    with served("wsgi", **PRODUCTION) as origin, httpx.Client(base_url=origin) as client:
        secure = {"X-Forwarded-Proto": "https"}
        status = {
            host: client.get("/wake/v1", headers={**secure, "Host": host}).status_code
            for host in ("wake.example.com", "evil.example")
        }
        healthy = client.get("/healthz", headers={"Host": "10.0.0.7"}).status_code

    assert status == {"wake.example.com": 200, "evil.example": 400}
    assert healthy == 200
