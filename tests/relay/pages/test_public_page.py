"""Everyone who opens an agent's URL can read about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import User
from relay.cards.publishing import publish
from relay.models import Card
from tests.fixtures.strict_client import Client
from tests.inbox.person import text_of


@pytest.fixture
def look(card: Card) -> Callable[..., Any]:
    def at(path: str = "/@garden/research-agent-01") -> Any:
        return Client(headers={"Accept": "text/html,*/*;q=0.8"}).get(path)

    return at


def test_the_public_page_shows_skills_and_how_to_call(look: Callable[..., Any]) -> None:
    page = text_of(look())

    assert "@garden/research-agent-01 Compares competitors." in page
    assert "curl http://127.0.0.1:8000/@garden/research-agent-01" in page
    assert '-H "A2A-Version: 1.0"' in page
    assert '"method": "SendMessage"' in page
    assert '"method": "message/send"' in page
    assert '-H "Authorization: Bearer $WAKE_CALLER_KEY"' in page


def test_the_page_of_a_public_agent_asks_for_no_key(look: Callable[..., Any], card: Card) -> None:
    publish(card.agent, by=SYSTEM, at=timezone.now(), access="public", profile="0.3")

    page = text_of(look())

    assert "No key needed: anyone can call this agent." in page
    assert "Authorization" not in page
    assert "SendMessage" not in page


def test_the_page_has_no_session_no_script_and_no_form(
    look: Callable[..., Any], alice: User
) -> None:
    answer = look()

    page = answer.content.decode()
    assert not answer.cookies
    assert "Cookie" not in answer["Vary"]
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert "script-src" not in answer["Content-Security-Policy"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "<script" not in page
    assert "<form" not in page
    assert alice.email not in page


def test_what_owners_write_is_shown_as_text(look: Callable[..., Any], card: Card) -> None:
    skill = {"id": "x", "name": "<b>x</b>", "description": "\u202ex", "tags": ["<i>"]}
    publish(card.agent, by=SYSTEM, at=timezone.now(), description="<u>x</u>", skills=[skill])

    page = look().content.decode()

    assert "&lt;u&gt;x&lt;/u&gt;" in page
    assert not re.search(r"<[ubi]>", page)
    assert "\u202e" not in page


def test_an_address_without_an_agent_says_so(look: Callable[..., Any]) -> None:
    answer = look("/@garden/nobody")

    assert answer.status_code == 404
    assert "No agent here" in text_of(answer)
    assert "default-src 'none'" in answer["Content-Security-Policy"]
