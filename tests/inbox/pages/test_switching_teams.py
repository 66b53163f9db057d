"""A member of several teams sees all teams together, or one team as if there were no other."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM, record
from accounts.models import Agent, Membership, Team
from inbox.reading import updates
from inbox.search.index import index_new
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.deliveries import deliver
from wake.models import Delivery


@pytest.fixture
def orchards(second_team: Team) -> Agent:
    """Creates an agent in Alice's other team."""
    return Agent.objects.create(team=second_team, agent_id="orchard-agent")


def give(agent: Agent, headline: str, **fields: Any) -> Delivery:
    given = {"provider": "claude", "type": "output", "summary": "In short.", **fields}
    now = timezone.now()
    return deliver(agent, agent_id=agent.agent_id, headline=headline, at=now, **given).delivery


def tabs(answer: Any) -> dict[str, str]:
    return {tab.name: tab.query for tab in answer.context["tabs"]}


@pytest.mark.parametrize("path", ["/", "/history/", "/audit/", "/closing-soon/"])
def test_a_member_of_one_team_sees_no_team_menu(bobs: Person, agent: Agent, path: str) -> None:
    page = bobs.get(path)

    assert page.context["tabs"] == []
    assert 'aria-label="Teams"' not in page.content.decode()


def test_the_menu_has_all_teams_and_each_of_them(alices: Person, orchards: Agent) -> None:
    page = alices.get("/", team="orchard", q="agent:orchard prices")

    assert tabs(page) == {
        "All teams": "q=agent%3Aorchard+prices",
        "Garden": "team=garden&q=agent%3Aorchard+prices",
        "Orchard": "team=orchard&q=agent%3Aorchard+prices",
    }
    assert [tab.name for tab in page.context["tabs"] if tab.is_here] == ["Orchard"]
    assert page.content.decode().count('aria-current="page" dir="auto">Orchard</a>') == 1


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/history/",
        "/audit/",
        "/closing-soon/",
        "/missed-deadlines/",
        "/agents/",
        "/callbacks/",
        "/pulse",
    ],
)
def test_a_member_of_very_many_teams_can_read_every_page(
    alices: Person, make_delivery: MakeDelivery, path: str
) -> None:
    """SQLite takes five hundred SELECTs in a UNION ALL, and each team may add seven."""
    make_delivery(headline="Prices of all teams")
    teams = [Team(slug=f"team-{number}", name=f"Team {number}") for number in range(501)]
    Team.objects.bulk_create(teams)
    Membership.objects.bulk_create(
        Membership(team=team, user=alices.user, role=Membership.Role.REVIEWER) for team in teams
    )
    since = updates.mark(timezone.now() - timedelta(hours=1))

    page = alices.get(path, since=since)

    assert page.status_code == 200
    if path == "/":
        assert "Prices of all teams" in text_of(page)


def test_a_team_has_its_own_sections_and_counts(
    alices: Person, orchards: Agent, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="Of the garden")
    for number in range(2):
        give(orchards, f"Of the orchard {number}")

    everything, one = alices.get("/"), alices.get("/", team="orchard")

    assert "For review 3" in text_of(everything)
    assert "Of the garden" in text_of(everything)
    assert "For review 2" in text_of(one)
    assert "Two deliveries need you" in text_of(one)
    assert "Of the garden" not in text_of(one)
    assert "Of the orchard 1" in text_of(one)


def test_rows_of_a_chosen_team_do_not_repeat_its_name(alices: Person, orchards: Agent) -> None:
    give(orchards, "Apples")

    def named(**query: str) -> list[str]:
        sections = alices.get("/", **query).context["inbox"].sections
        return [row.team for section in sections for row in section.rows]

    assert named() == ["Orchard"]
    assert named(team="orchard") == [""]


def test_the_team_is_a_filter_of_the_search_too(
    alices: Person, orchards: Agent, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="Prices of the garden")
    give(orchards, "Prices of the orchard")
    index_new(at=timezone.now())

    page = alices.get("/", q="team:orchard prices")

    assert "Prices of the orchard" in text_of(page)
    assert "Prices of the garden" not in text_of(page)
    assert page.context["form"]["team"] == "orchard"
    assert page.context["form"]["q"] == "prices"
    assert '<input type="hidden" name="team" value="orchard">' in page.content.decode()


def test_another_team_in_a_typed_query_is_ignored_with_a_message(
    alices: Person, mallory: Any, orchards: Agent
) -> None:
    give(orchards, "Apples")

    for slug in ("other", "nobody-there"):
        page = text_of(alices.get("/", q=f"team:{slug}"))

        assert f"“team:{slug}” was left out: you have no team with this handle" in page
        assert "Apples" in page


def test_an_id_is_found_from_any_team(alices: Person, orchards: Agent) -> None:
    delivery = give(orchards, "Apples")

    answer = alices.get("/", team="orchard", q=str(delivery.pk))

    assert answer["Location"] == f"/deliveries/{delivery.pk}/"


def test_a_team_without_open_deliveries_is_clear(
    alices: Person, orchards: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    make_delivery(headline="Of the garden")
    give(orchards, "An update", type="update")
    Delivery.objects.filter(type="update").update(acknowledged_at=timezone.now())

    page = text_of(alices.get("/", team="orchard"))

    assert "You're all caught up" in page
    assert "No results" not in page
    assert "Of the garden" not in page


def test_the_confirmation_of_an_answer_shows_in_any_team(
    alices: Person, orchards: Agent, make_delivery: MakeDelivery
) -> None:
    """The answer can still be undone."""
    alices.answer(make_delivery(headline="Of the garden"))

    for page in (alices.get("/", team="orchard"), alices.get("/", team="garden")):
        assert "Approved: Of the garden" in text_of(page)
        assert ">Undo</button>" in page.content.decode()


def test_answering_keeps_the_team(
    alices: Person, orchards: Agent, make_delivery: MakeDelivery
) -> None:
    first, second = make_delivery(), make_delivery()
    give(orchards, "Apples")
    list_of_one = alices.get("/", team="garden").content.decode()
    assert f"/deliveries/{second.pk}/?back=team%3Dgarden" in list_of_one

    second_page = alices.see(second, back="team=garden")
    answered = alices.answer(second, back="team=garden")

    assert second_page.context["neighbours"].position == "1 of 2"
    assert second_page.context["neighbours"].next == first
    assert parse_qs(answered["Location"].partition("?")[2])["team"] == ["garden"]


def test_links_keep_the_team(alices: Person, orchards: Agent) -> None:
    give(orchards, "Apples", type="question", timeout_seconds=600)

    page = alices.get("/", team="orchard").content.decode()

    assert '<a href="/history/?team=orchard" data-shortcut="g h"' in page
    assert '<a href="/audit/?team=orchard">Audit log</a>' in page
    assert '<a href="/" data-shortcut="g i"' in alices.get("/").content.decode()


def test_the_history_of_one_team(
    alices: Person, orchards: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    answer(make_delivery(headline="Of the garden"))
    apples = give(orchards, "Of the orchard", timeout_seconds=60)
    Delivery.objects.filter(pk=apples.pk).update(expires_at=timezone.now() - timedelta(minutes=1))

    everything, one = alices.get("/history/"), alices.get("/history/", team="orchard")

    assert "Of the garden" in text_of(everything)
    assert "Of the orchard" in text_of(everything)
    assert "Of the garden" not in text_of(one)
    assert "Of the orchard" in text_of(one)
    assert tabs(one)["Garden"] == "team=garden"
    nothing = alices.get("/history/", team="orchard", status="approved").content.decode()
    assert '<a class="button" href="/history/?q=team:orchard">Clear filter</a>' in nothing


def test_the_audit_of_one_team(alices: Person, agent: Agent, orchards: Agent) -> None:
    record("agent.paused", by=SYSTEM, of=agent, team=agent.team)
    record("agent.resumed", by=SYSTEM, of=orchards, team=orchards.team)

    page = alices.get("/audit/", team="garden", event="agent.paused", agent=str(agent.pk))

    events = [line.event.event for line in alices.get("/audit/", team="orchard").context["lines"]]
    assert events == ["agent.resumed"]
    assert [line.event.event for line in page.context["lines"]] == ["agent.paused"]
    assert tabs(page)["Orchard"] == "team=orchard&event=agent.paused"
    assert list(page.context["agents"]) == [agent]


def test_the_export_of_one_team(alices: Person, agent: Agent, second_team: Team) -> None:
    Membership.objects.filter(team=second_team).update(role=Membership.Role.OWNER)
    record("team.changed", by=SYSTEM, of=agent.team, team=agent.team)
    record("team.changed", by=SYSTEM, of=second_team, team=second_team)

    lines = b"".join(alices.get("/audit/export.jsonl", team="orchard")).decode()

    assert '"team": "orchard"' in lines
    assert '"team": "garden"' not in lines


def test_a_readers_team_is_not_exported(alices: Person, orchards: Agent) -> None:
    page = alices.get("/audit/", team="orchard")

    assert page.context["may_export"] is False
    assert alices.get("/audit/export.csv", team="orchard").status_code == 403


def test_updates_and_deadlines_are_those_of_the_team(
    alices: Person, orchards: Agent, make_delivery: MakeDelivery
) -> None:
    Membership.objects.filter(team=orchards.team).update(role=Membership.Role.REVIEWER)
    since = updates.mark(timezone.now() - timedelta(minutes=1))
    for _ in range(2):
        make_delivery(timeout_seconds=600)
    give(orchards, "Apples", timeout_seconds=600)

    new = alices.get("/pulse", since=since, team="orchard")
    closing = alices.get("/closing-soon/", team="orchard")

    assert "Show 1 new delivery" in text_of(new)
    assert 'href="/?team=orchard"' in new.content.decode()
    assert [each.row.delivery.headline for each in closing.context["closing"]] == ["Apples"]
    inbox = alices.get("/", team="orchard")
    assert "1 deadline within the hour: the agent goes ahead without you" in text_of(inbox)
    assert 'href="/closing-soon/?team=orchard"' in inbox.content.decode()
    assert f"since={inbox.context['since']}&amp;team=orchard" in inbox.content.decode()
