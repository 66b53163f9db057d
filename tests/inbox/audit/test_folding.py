"""The audit page groups events by day and folds equal events that follow each other."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from accounts.agents import aliases, keys, registration
from accounts.audit import SYSTEM, person, record
from accounts.models import Agent, Team, User
from pages.times import midnight
from tests.inbox.person import Person, text_of


def pause(team: Team, agent: Agent, *, by: User | None, count: int, days: int = 0) -> None:
    at = midnight(timezone.now()) - timedelta(days=days)
    actor = person(by) if by else SYSTEM
    for number in range(count):
        then = at + timedelta(microseconds=number)
        record("agent.paused", by=actor, of=agent, team=team, at=then)


def groups(alices: Person) -> list[tuple[str, list[tuple[str, int]]]]:
    days = alices.get("/audit/", event="agent.paused").context["days"]
    return [(day.title, [(group.words, len(group.lines)) for group in day.groups]) for day in days]


def test_equal_events_that_follow_each_other_are_folded(
    alices: Person, team: Team, agent: Agent
) -> None:
    pause(team, agent, by=None, count=6)

    page = text_of(alices.get("/audit/", event="agent.paused"))

    assert groups(alices) == [("Today", [("6 agents paused", 6)])]
    assert "Today 6 agents paused" in page
    assert page.count("Wake paused an agent") == 6, "Each has its line in the fold."


def test_two_events_are_not_folded(alices: Person, team: Team, agent: Agent) -> None:
    pause(team, agent, by=None, count=2)

    assert groups(alices) == [("Today", [("", 1), ("", 1)])]


def test_events_of_another_person_or_day_are_not_folded_together(
    alices: Person, alice: User, team: Team, agent: Agent
) -> None:
    pause(team, agent, by=alice, count=3, days=2)
    pause(team, agent, by=None, count=3, days=1)
    pause(team, agent, by=None, count=2)
    pause(team, agent, by=alice, count=1)

    today, yesterday, earlier = groups(alices)

    assert (today[0], sum(count for _, count in today[1])) == ("Today", 3)
    assert {words for words, _ in today[1]} == {""}
    assert yesterday == ("Yesterday", [("3 agents paused", 3)])
    assert earlier[1] == [("3 agents paused", 3)]


def test_agents_that_a_script_sets_up_are_one_line(alices: Person, team: Team) -> None:
    for name in ("one", "two", "three"):
        agent = Agent(team=team, agent_id=f"{name}-agent")
        registration.register(agent, by=SYSTEM)
        keys.mint(agent, by=SYSTEM)
    aliases.grant(agent, "other-*", by=SYSTEM)

    [day] = alices.get("/audit/").context["days"]

    assert [group.words for group in day.groups] == [
        "3 agents registered, 3 keys created, 3 signing secrets created, 1 alias added"
    ]


def test_one_agent_that_a_person_sets_up_is_not_folded(alices: Person, team: Team) -> None:
    agent = Agent(team=team, agent_id="one-agent")
    registration.register(agent, by=SYSTEM)
    keys.mint(agent, by=SYSTEM)

    [day] = alices.get("/audit/").context["days"]

    assert [len(group.lines) for group in day.groups] == [1, 1, 1]
