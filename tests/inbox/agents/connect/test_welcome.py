"""The welcome page shows three steps, and marks each step that is done."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Agent, ApiKey, Membership, Team, User
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery


def test_without_agents_the_owner_is_led_to_registration(alices: Person) -> None:
    page = alices.get("/")

    assert "Your agents' questions and finished work will appear here" in text_of(page)
    assert "Add your first agent" in text_of(page)
    assert 'href="/agents/new/"' in page.content.decode()


def test_an_agent_without_a_usable_key_needs_one(alices: Person, key: ApiKey) -> None:
    ApiKey.objects.update(revoked_at=timezone.now())

    page = alices.get("/")

    assert "Create an API key for research-agent-01" in text_of(page)
    link = f'href="/agents/{key.agent_id}/keys/new/">Create API key</a>'
    assert link in page.content.decode()


def test_a_key_alone_connects_no_agent(bobs: Person, key: ApiKey) -> None:
    page = text_of(bobs.get("/"))

    assert "API key created for research-agent-01" in page
    assert "Agent connected" not in page


def test_an_owner_of_another_team_is_not_led_to_a_key_that_they_cannot_create(
    bobs: Person, key: ApiKey, second_team: Team
) -> None:
    ApiKey.objects.update(revoked_at=timezone.now())
    Membership.objects.create(user=bobs.user, team=second_team, role=Membership.Role.OWNER)

    page = bobs.get("/welcome/")

    assert "Ask a team owner" in text_of(page)
    assert "/keys/new/" not in page.content.decode()


def test_a_reviewer_is_referred_to_the_owners(bobs: Person) -> None:
    page = bobs.get("/")

    assert "Ask a team owner" in text_of(page)
    assert "/agents/new/" not in page.content.decode()


def test_a_person_without_a_team_sees_a_message(
    browser: Callable[[User], Person], db: None
) -> None:
    nobody = User.objects.create_user("nobody@example.com", "x")

    assert "You're not in a team yet." in text_of(browser(nobody).get("/welcome/"))


def test_the_command_delivers_unchanged_when_the_key_is_set(
    bobs: Person, key: ApiKey, caller: Any, settings: Any
) -> None:
    settings.WAKE_ORIGIN = "https://wake.example.com"
    Agent.objects.update(agent_id="it's <one> agent")

    first_run = bobs.get("/").context["first_run"]
    words = shlex.split(first_run.curl)
    body = json.loads(words[-1])

    assert words[:2] == ["curl", "https://wake.example.com/wake/v1/deliver"]
    assert "Authorization: Bearer $WAKE_API_KEY" in words
    assert body["agent_id"] == "it's <one> agent"
    assert caller.post(body).status_code == 201
    assert key.text not in text_of(bobs.get("/welcome/"))  # type: ignore[attr-defined]


def test_a_coding_agent_is_offered_first(bobs: Person, key: ApiKey) -> None:
    page = bobs.get("/").content.decode()

    link = f'href="/agents/{key.agent_id}/connect/">Connect a coding agent</a>'
    assert page.index(link) < page.index("curl ")


def test_check_now_finds_the_delivery(bobs: Person, make_delivery: MakeDelivery) -> None:
    assert "Check now" in text_of(bobs.get("/"))

    make_delivery()

    assert "First delivery received" in text_of(bobs.get("/welcome/"))
    assert "Check now" not in text_of(bobs.get("/"))


def test_it_disappears_after_the_last_step(
    alices: Person, make_delivery: MakeDelivery, answer: Callable[..., Any]
) -> None:
    answer(make_delivery())

    page = text_of(alices.get("/"))

    assert "You're all caught up" in page
    assert "Send a test delivery" not in page


def test_an_empty_filter_result_does_not_show_the_first_run(alices: Person, key: ApiKey) -> None:
    page = text_of(alices.get("/", q="pricing"))

    assert "Clear filter" in page
    assert "Send a test delivery" not in page


@pytest.mark.parametrize("path", ["/", "/welcome/"])
def test_it_takes_few_queries(
    alices: Person,
    key: ApiKey,
    second_team: Team,
    path: str,
    django_assert_max_num_queries: Callable[..., CaptureQueriesContext],
) -> None:
    with django_assert_max_num_queries(7):
        assert "Send a test delivery" in text_of(alices.get(path))
