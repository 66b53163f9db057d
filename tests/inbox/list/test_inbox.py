"""The inbox has four sections and can be filtered by query, mode and team."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents.keys import mint
from accounts.audit import SYSTEM
from accounts.models import Agent, ClaimedId, Team, User
from inbox.reading.snoozes import snooze
from inbox.search.index import index_new
from pages.times import when
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.deliveries import deliver
from wake.models import Delivery

TYPES = ("update", "output", "alert", "question")


def test_the_inbox_requires_a_sign_in(client: Any, make_delivery: MakeDelivery) -> None:
    make_delivery()

    answer = client.get("/")

    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/")


def test_the_four_sections_come_in_their_order(alices: Person, make_delivery: MakeDelivery) -> None:
    for type in TYPES:
        make_delivery(type=type, headline=f"A {type}")

    page = text_of(alices.get("/"))

    order = ["Needs your answer 1", "Alerts 1", "For review 1", "Updates 1"]
    places = [page.rindex(title) for title in order]
    assert places == sorted(places)


def test_inside_a_section_the_newest_comes_first(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    now = timezone.now()
    for minutes in (30, 20, 10):
        make_delivery(headline=f"From {minutes} minutes ago", at=now - timedelta(minutes=minutes))

    page = text_of(alices.get("/"))

    places = [page.index(f"From {minutes} minutes ago") for minutes in (10, 20, 30)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("types", "line"),
    [
        ((), "You're all caught up"),
        (("question",), "One delivery needs you"),
        (TYPES, "Three deliveries need you"),
        (("update", "update"), "Nothing needs you. Two updates to read"),
        (("output",) * 11, "11 deliveries need you"),
    ],
)
def test_one_line_says_whether_the_person_is_caught_up(
    alices: Person,
    make_delivery: MakeDelivery,
    answer: Answer,
    types: tuple[str, ...],
    line: str,
) -> None:
    answer(make_delivery())
    for type in types:
        make_delivery(type=type)

    assert f"{line} " in text_of(alices.get("/")) + " "


def test_an_empty_inbox_says_what_was_done_today(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    answer(make_delivery())

    page = text_of(alices.get("/"))

    assert page.count("You're all caught up") == 1
    assert "New deliveries appear here." in page
    assert "1 answered today." in page


def test_an_empty_inbox_counts_what_was_acknowledged_today(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    answer(make_delivery())
    for arrived in (timedelta(), timedelta(days=2), timedelta(days=3)):
        make_delivery(type="update", at=timezone.now() - arrived)
    Delivery.objects.filter(type="update").update(acknowledged_at=timezone.now())
    earlier = make_delivery(type="update", at=timezone.now() - timedelta(days=3))
    two_days_ago = timezone.now() - timedelta(days=2)
    Delivery.objects.filter(pk=earlier.pk).update(acknowledged_at=two_days_ago)

    assert "1 answered and 3 acknowledged today." in text_of(alices.get("/"))


def test_a_row_says_what_happens_if_no_one_answers(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    at = timezone.now() - timedelta(minutes=30)
    make_delivery(type="question", timeout_seconds=3600, at=at)
    make_delivery(type="question", timeout_seconds=60, at=at)
    make_delivery(type="question", timeout_seconds=7200, on_timeout="abort", at=at)

    page = text_of(alices.get("/"))

    passed, soon, later = (
        when(at + timedelta(minutes=minutes), now=timezone.now()) for minutes in (1, 60, 120)
    )
    assert f"expired {passed}" in page
    assert f"goes ahead without you {soon}" in page
    assert f"stops {later} unless you answer" in page
    assert "1 deadline within the hour: the agent goes ahead without you" in page


def test_times_are_in_the_persons_own_zone(
    alice: User, alices: Person, make_delivery: MakeDelivery
) -> None:
    alice.time_zone = "Asia/Kathmandu"
    alice.save(update_fields=["time_zone"])
    make_delivery(at=timezone.now().replace(hour=0, minute=1))

    page = text_of(alices.get("/"))

    assert "05:46" in page
    assert "Times are in Asia/Kathmandu." in page


def test_only_an_output_can_be_approved_from_its_row(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    output, *others = [
        make_delivery(type=type) for type in ("output", "question", "alert", "update")
    ]

    page = alices.get("/").content.decode()

    assert f'action="/deliveries/{output.pk}/response"' in page
    assert output.content_hash in page
    assert not any(f"/deliveries/{other.pk}/response" in page for other in others)


def test_a_reader_has_no_answer_buttons(ritas: Person, make_delivery: MakeDelivery) -> None:
    make_delivery(type="output")
    make_delivery(type="question")

    page = ritas.get("/").content.decode()

    assert "For review" in page
    assert "/response" not in page
    assert ">Answer<" not in page


def test_a_row_shows_the_claimed_id_only_where_it_differs(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    ClaimedId.objects.create(agent=agent, pattern="crew-*")
    make_delivery()
    assert f"{agent.agent_id} as" not in text_of(alices.get("/"))

    make_delivery(agent_id="crew-7")

    assert f"{agent.agent_id} as crew-7" in text_of(alices.get("/"))


def test_the_teams_name_is_shown_to_those_who_have_more_than_one(
    alices: Person, bobs: Person, make_delivery: MakeDelivery, second_team: Team
) -> None:
    make_delivery()

    assert "Garden" in text_of(alices.get("/"))
    assert "Garden" not in text_of(bobs.get("/"))


def test_a_person_sees_all_their_teams_and_answers_where_their_role_allows(
    alices: Person, make_delivery: MakeDelivery, second_team: Team
) -> None:
    theirs = Agent.objects.create(team=second_team, agent_id="orchard-agent")
    own = make_delivery(headline="From the garden")
    read_only = deliver(
        theirs,
        agent_id="orchard-agent",
        provider="x",
        type="output",
        headline="From the orchard",
        summary="s",
        at=timezone.now(),
    ).delivery

    page = alices.get("/").content.decode()

    assert "From the garden" in page
    assert "From the orchard" in page
    assert f"/deliveries/{own.pk}/response" in page
    assert f"/deliveries/{read_only.pk}/response" not in page


def test_a_person_without_a_team_has_an_empty_inbox(
    browser: Callable[[User], Person], make_delivery: MakeDelivery
) -> None:
    make_delivery()
    superuser = User.objects.create_superuser("root@example.com", "x")

    page = text_of(browser(superuser).get("/"))

    assert "You're all caught up" in page
    assert "Market report" not in page


def test_test_deliveries_are_separate(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    key, _ = mint(agent, by=SYSTEM, mode="test")
    make_delivery(headline="A live one")
    make_delivery(headline="A try", key=key)

    usual, tests = text_of(alices.get("/")), text_of(alices.get("/", q="is:test"))

    assert "A live one" in usual
    assert "A try" not in usual
    assert "A try" in tests
    assert "A live one" not in tests


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("pricing", {"Pricing options"}),
        ("PRICING options", {"Pricing options"}),
        ('"options pricing"', set()),
        ("type:question", {"Pricing options"}),
        ("agent:research", {"Pricing options", "A report"}),
        ("agent:other", set()),
        ("is:soon", {"Pricing options"}),
        ('an "unclosed', set()),
        ("by:alice", set()),
    ],
)
def test_the_search_box_filters_the_inbox(
    alices: Person, make_delivery: MakeDelivery, query: str, expected: set[str]
) -> None:
    make_delivery(type="question", headline="Pricing options", timeout_seconds=1800)
    make_delivery(headline="A report")
    index_new(at=timezone.now())

    page = text_of(alices.get("/", q=query))

    assert {
        headline for headline in ("Pricing options", "A report") if headline in page
    } == expected
    assert ("Search history instead" in page) == (not expected)


def test_controls_and_search_box_show_the_same_query(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="Soon", timeout_seconds=1800)
    make_delivery(headline="No hurry")

    typed = alices.get("/", q="agent:research type:output is:soon is:expired")
    chosen = alices.get("/", agent="research", type="output", window="soon")

    for page in (typed, chosen):
        assert page.context["form"]["agent"] == "research"
        assert '<option value="output" selected>' in page.content.decode()
        assert '<option value="soon" selected>' in page.content.decode()
    assert typed.context["form"]["q"] == "is:expired"
    assert "Soon" in text_of(chosen)
    assert "No hurry" not in text_of(chosen)


def test_an_unknown_part_of_a_query_is_named_in_one_line(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="A report")

    page = text_of(alices.get("/", q="type:song % is:good"))

    assert "A report" in page
    assert "“type:song” was left out: a type is question, alert, output or update." in page
    assert "“%” contains no word to search for." in page


def test_snoozed_deliveries_are_found_by_a_filter(
    alice: User, alices: Person, make_delivery: MakeDelivery
) -> None:
    now = timezone.now()
    snooze(make_delivery(headline="Postponed"), by=alice, until=now + timedelta(hours=1), at=now)
    make_delivery(headline="Waiting")

    assert "Postponed" not in text_of(alices.get("/"))
    page = text_of(alices.get("/", q="is:snoozed"))
    assert "Postponed" in page
    assert "Waiting" not in page


def test_an_agent_id_in_the_search_box_filters_by_that_agent(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="Theirs")

    page = alices.get("/", q=agent.agent_id)

    assert "Theirs" in text_of(page)
    assert f"Showing deliveries from your agent {agent.agent_id}." in text_of(page)
    assert page.context["form"]["agent"] == agent.agent_id


def test_a_pasted_id_leads_to_the_delivery(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()

    answer = alices.get("/", q=f"http://testserver/deliveries/{delivery.pk}/")

    assert answer["Location"] == f"/deliveries/{delivery.pk}/"


def test_hostile_headlines_are_escaped_and_hidden_characters_are_named(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="<script>alert(1)</script>", summary="pay \u202e001\u202c now <b>")

    page = alices.get("/").content.decode()

    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\u202e" not in page
    assert "⟨U+202E⟩" in page


def test_pages_are_not_cached(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()

    for path in ("/", "/history/", "/agents/", f"/deliveries/{delivery.pk}/"):
        assert "no-store" in alices.get(path)["Cache-Control"]
