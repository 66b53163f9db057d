"""What a team does without an administrator: its owner invites somebody, registers an agent, issues
its key, rotates it, and lets the reviewer go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.utils import timezone

from accounts.models import ApiKey, User
from tests.browser.conftest import Open
from tests.browser.screen import Screen
from tests.conftest import PASSWORD

HEADLINE = "Market report ready for your review"
DELIVERY = {
    "agent_id": "writing-agent",
    "provider": "claude",
    "type": "output",
    "headline": HEADLINE,
    "summary": "Analysed the ten largest competitors.",
}


def http(origin: str, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=origin, headers=headers, trust_env=False)


def sign_in(screen: Screen, email: str) -> None:
    screen.page.get_by_label("E-mail").fill(email)
    screen.page.get_by_label("Password", exact=True).fill(PASSWORD)
    screen.press("Sign in")


def test_a_team_does_all_of_it_by_itself(
    open_browser: Open, live_server: Any, alice: User, age: Callable[..., None]
) -> None:
    owner = open_browser()
    owner.go("/")
    sign_in(owner, alice.email)
    key = _agent_with_a_key(owner)
    reviewer = open_browser()
    _joins(reviewer, _invitation(owner))
    agent = http(live_server.url, key)
    delivery_id = agent.post("/wake/v1/deliver", json=DELIVERY).json()["delivery_id"]

    reviewer.go("/")
    reviewer.press(f"Approve: {HEADLINE}")
    age(delivery_id, seconds=11)
    renewed = http(live_server.url, _rotated(owner))
    answers = [each.get(f"/wake/v1/response/{delivery_id}").json() for each in (agent, renewed)]
    ApiKey.objects.filter(expires_at__isnull=False).update(expires_at=timezone.now())

    assert [answer["status"] for answer in answers] == ["approved", "approved"]
    assert agent.get("/wake/v1/responses").status_code == 401
    assert renewed.get("/wake/v1/responses").status_code == 200
    _is_let_go(owner, reviewer, delivery_id)
    _the_audit_tells_it(owner)


def _agent_with_a_key(owner: Screen) -> str:
    page = owner.page
    assert "Add your first agent" in page.inner_text("main")
    owner.follow("Add agent")
    page.get_by_label("Its id").fill("writing-agent")
    owner.press("Add agent")
    assert page.inner_text("#once").startswith("whsec_")
    owner.follow("It is kept: issue the first key")
    owner.press("Issue the key")
    key = page.inner_text("#once")
    owner.follow("It is kept")
    assert key not in page.content()
    return key


def _invitation(owner: Screen) -> str:
    owner.go("/settings/members/")
    owner.follow("Invite somebody to Garden")
    owner.press("Invite")
    return urlsplit(owner.page.inner_text("#link")).path


def _joins(reviewer: Screen, path: str) -> None:
    page = reviewer.go(path)
    page.get_by_label("Name", exact=True).fill("Rosa")
    page.get_by_label("E-mail").fill("rosa@example.com")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password again").fill(PASSWORD)
    reviewer.press("Join")
    sign_in(reviewer, "rosa@example.com")
    assert "You are in Garden." in page.inner_text("main")


def _rotated(owner: Screen) -> str:
    owner.go("/agents/")
    owner.follow("writing-agent")
    owner.follow(f"Rotate {ApiKey.objects.get().hint}")
    owner.page.get_by_label("In 1 hour").check()
    owner.press("Rotate the key")
    return owner.page.inner_text("#once")


def _is_let_go(owner: Screen, reviewer: Screen, delivery_id: str) -> None:
    assert reviewer.page.request.get(f"/deliveries/{delivery_id}/").status == 200
    owner.go("/settings/members/")
    owner.follow("Change: Rosa")
    owner.press("Remove from the team")
    assert "Rosa is no longer in Garden." in owner.page.inner_text("main")
    assert reviewer.page.request.get(f"/deliveries/{delivery_id}/").status == 404


def _the_audit_tells_it(owner: Screen) -> None:
    told = owner.go("/audit/").locator("main h2").all_inner_texts()
    for words in (
        "alice registered an agent",
        "alice issued a key of writing-agent",
        "writing-agent delivered",
        "Rosa approved",
        "Picked up by poll",
        "alice rotated a key of writing-agent",
        "alice removed a member",
    ):
        assert words in told
    assert any(line.startswith("alice invited") for line in told)
    assert any(line.startswith("Rosa") and "joined" in line for line in told)
