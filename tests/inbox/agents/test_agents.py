"""Every member can read the list of agents and keys."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from accounts.agents.keys import mint, revoke, touch
from accounts.audit import SYSTEM, person
from accounts.models import Agent, ApiKey, User
from pages.times import moment
from tests.inbox.person import Person, text_of


def test_agents_are_listed_with_when_they_were_last_seen(
    alices: Person, agent: Agent, key: ApiKey
) -> None:
    Agent.objects.create(team=agent.team, agent_id="quiet-agent", paused_at=timezone.now())
    now = timezone.now()
    touch(key, at=now)

    page = text_of(alices.get("/agents/"))

    assert f"research-agent-01 \u2013 {moment(now, now=timezone.now())} 0 0 \u2013" in page
    assert "quiet-agent Paused \u2013 not seen yet 0 0 \u2013" in page


def test_an_agents_page_has_the_hints_and_dates_of_its_keys(
    alices: Person, alice: User, agent: Agent, key: ApiKey
) -> None:
    now = timezone.now()
    mint(agent, by=person(alice), mode="test", expires_at=now + timedelta(days=7))
    old, _ = mint(agent, by=SYSTEM)
    revoke(old, by=SYSTEM, at=now)

    answer = alices.get(f"/agents/{agent.pk}/")

    page = text_of(answer)
    assert f"{key.hint} Active created" in page
    assert "Expires soon test created" in page
    assert "by alice never used expires" in page
    assert f"{old.hint} Revoked" in page
    assert key.digest not in answer.content.decode()
    assert key.text not in answer.content.decode()  # type: ignore[attr-defined]


def test_without_agents_the_page_says_so(alices: Person) -> None:
    assert "Add your first agent" in text_of(alices.get("/agents/"))
