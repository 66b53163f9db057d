"""Browsers may call agents from pages of other sites with a caller key, and never with a cookie."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, User
from relay.cards.publishing import publish
from relay.models import Card
from tests.fixtures.strict_client import Client
from tests.relay.calling import Caller

GOOD = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "none"}}
ELSEWHERE = {"Origin": "https://elsewhere.example"}


@pytest.fixture
def public(agent: Agent) -> Card:
    return publish(agent, by=SYSTEM, at=timezone.now(), access=Card.Access.PUBLIC)


@pytest.fixture
def caller(public: Card) -> Caller:
    return Caller(public)


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_cookie_is_no_key_and_no_token_is_asked_for(
    slash: str, public: Card, alice: User
) -> None:
    Card.objects.filter(pk=public.pk).update(access=Card.Access.KEY)
    browser = Client(sends_tokens=False)
    browser.force_login(alice)

    response = browser.post(f"/{public}{slash}", GOOD, content_type="application/json")

    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert not response.cookies


def test_no_browser_of_another_site_may_read_the_answer(caller: Caller) -> None:
    response = caller.post(GOOD, Origin="https://elsewhere.example")

    assert not [name for name in response.headers if name.lower().startswith("access-control")]
    assert not response.cookies
    assert response["Cache-Control"] == "no-store"


def preflight(caller: Caller, asked: str) -> Any:
    names = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": asked,
    }
    return caller.client.options(caller.path, headers=ELSEWHERE | names, secure=caller.secure)


@pytest.fixture
def in_production(settings: Any) -> None:
    settings.DEVELOPMENT = False


@pytest.mark.usefixtures("in_production")
def test_a_page_of_another_site_may_call_with_a_caller_key(newer: Caller) -> None:
    newer.secure = True
    asked = preflight(newer, "a2a-version,Authorization,content-type")
    answered = newer.post(GOOD, **ELSEWHERE)
    newer.headers["Authorization"] = "Bearer wk_call_none"
    refused = newer.post(GOOD, **ELSEWHERE)

    assert asked.status_code == 204
    assert asked["Access-Control-Allow-Methods"] == "POST"
    allowed = asked["Access-Control-Allow-Headers"].split(", ")
    assert {"Authorization", "A2A-Version", "X-A2A-Extensions", "Content-Type"} <= {*allowed}
    assert (answered.status_code, refused.status_code) == (200, 401)
    for response in (asked, answered, refused):
        assert response["Access-Control-Allow-Origin"] == "*"


@pytest.mark.usefixtures("in_production")
def test_a_page_of_another_site_may_not_call_a_public_agent_without_one(caller: Caller) -> None:
    caller.secure = True

    response = preflight(caller, "content-type")

    assert response.status_code == 204
    assert not response.has_header("Access-Control-Allow-Origin")


def test_in_development_other_pages_may_not_call_at_all(newer: Caller, settings: Any) -> None:
    settings.DEVELOPMENT = True

    assert preflight(newer, "authorization").status_code == 403
