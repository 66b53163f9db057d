"""People find the deliveries of their teams and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.access.viewer import Viewer
from accounts.models import Agent, ApiKey, ClaimedId, Membership, User
from database.batched_queries import PAGE
from database.clock import database_now
from inbox.search.query_language import read
from inbox.search.search import Search
from tests.fixtures.agent_client import AgentClient
from tests.types import Age, Answer, Find
from wake import claims, outcomes
from wake.claims import Claimant
from wake.deliveries import deliver
from wake.models import Delivery
from wake.undo import take_back

pytestmark = pytest.mark.django_db
Give = Callable[..., Delivery]


def test_all_words_must_be_there_in_any_order(give: Give, find: Find) -> None:
    give("Pricing of the garden shed")
    give("Pricing of the house")

    assert find("shed pricing") == ["Pricing of the garden shed"]


def test_a_word_of_three_letters_matches_longer_words(give: Give, find: Find) -> None:
    give("Reports")

    assert find("rep") == find("REPORT") == ["Reports"]
    assert find("re") == find("eports") == find('"report"') == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite finds them all")
def test_a_prefix_of_too_many_words_is_cut_with_a_message(
    give: Give, find: Find, alice: User
) -> None:
    letters = "abcdefghijklmno"
    give("Many", details_json=json.dumps([f"zan{a}{b}" for a in letters for b in letters]))
    give("Last", details_json=json.dumps("zanzibar"))

    assert find("zan") == ["Many"]
    assert find("zanz") == ["Last"]
    notes = Search.of(Viewer.of(alice), read("zan")).query.notes
    assert notes == ("Too many words begin with “zan”: some were left out.",)


def test_an_exact_phrase_matches_adjacent_words(give: Give, find: Find) -> None:
    give("The market report")
    give("The report of the market")

    assert find('"market report"') == find("market-report") == ["The market report"]


def test_excluded_words_are_excluded(give: Give, find: Find) -> None:
    give("Report on roses")
    give("Report on tulips")

    assert find("report -roses") == find("-roses") == find('-"on roses"') == ["Report on tulips"]
    assert find("report -roses -tulips") == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Café Straße", "cafe strasse"),
        ("see https://example.com/report_7?a=b", "example report 7"),
        ("naïve piñata İstanbul", "NAIVE pinata istanbul"),
        ("市场报告 已完成", "市场报告"),
        ("price 12.50", "12.50"),
        ("emoji 🌹rose🌹", "rose"),
    ],
)
def test_both_databases_split_words_alike(give: Give, find: Find, text: str, word: str) -> None:
    give(text)

    assert find(word) == [text]


def test_details_are_searched_keys_and_values(give: Give, find: Find) -> None:
    give("An object", details_json=json.dumps({"supplier": {"name": "Möller", "n": [1.50]}}))
    give("A text", details_json=json.dumps("# Supplier\n\nHansen"))
    give("Nothing")

    assert find("supplier") == ["A text", "An object"]
    assert find("supplier moller 1.5") == ["An object"]


def test_the_beginning_of_long_details_is_searched(give: Give, find: Find) -> None:
    give("Long", details_json=json.dumps("first " + "x" * 250_000 + " last"))
    give("Many", details_json=json.dumps({"parts": ["early", *["word"] * 40_000, "late"]}))

    assert find("long first") == ["Long"]
    assert find("many early") == ["Many"]
    assert find("last") == find("late") == []


def test_feedback_is_searched_until_it_is_undone(
    give: Give, find: Find, answer: Answer, alice: User
) -> None:
    delivery = give("Report")
    answer(delivery, "rejected", feedback="Zanzibar is missing")
    assert find("zanzibar report") == ["Report"]

    take_back(delivery, by=alice, at=timezone.now())

    assert find("zanzibar") == []
    assert find("report") == ["Report"]


def test_filters_narrow_together(give: Give, find: Find, answer: Answer) -> None:
    answer(give("One report", type="output"), "approved")
    answer(give("Two report", type="output"), "rejected")
    give("Three report", type="update")
    give("Four report", type="question", thread="launch")

    assert find("type:output") == ["Two report", "One report"]
    assert find("type:output status:approved") == ["One report"]
    assert find("status:pending report") == ["Four report", "Three report"]
    assert find("thread:launch") == find("thread:launch report") == ["Four report"]
    assert find("thread:Launch") == []


def test_expired_deliveries_and_late_answers_are_found(
    give: Give, find: Find, answer: Answer, age: Age
) -> None:
    for name in ("open", "passed", "late", "in time"):
        delivery = give(name, timeout_seconds=3600)
        if name == "in time":
            answer(delivery)
        if name != "open":
            age(delivery, hours=2)
        if name == "late":
            answer(delivery)

    assert sorted(find("is:expired")) == ["late", "passed"]
    assert find("is:late") == ["late"]
    assert find("is:late late") == ["late"]
    assert find("is:late passed") == []


def test_held_answers(give: Give, find: Find, answer: Answer) -> None:
    answer(give("Held"), held=True)
    answer(give("Released"))

    assert find("is:held") == ["Held"]


def test_used_approvals_and_failures_are_found(
    give: Give, find: Find, key: ApiKey, answer: Answer
) -> None:
    for name in ("waiting", "approved", "used", "failed", "tried again", "rejected"):
        delivery = give(name, digest=True)
        if name != "waiting":
            answer(delivery, "rejected" if name == "rejected" else "approved")
        if name in ("used", "failed"):
            digest = delivery.content_hash
            claims.claim(Claimant(key=key), delivery.pk, digest=digest, at=database_now())
        if name in ("failed", "tried again", "rejected"):
            outcomes.report(key, delivery.pk, status="failed", at=database_now())
        if name == "tried again":
            outcomes.report(key, delivery.pk, status="done", at=database_now())

    assert sorted(find("is:used")) == ["failed", "used"]
    assert find("is:failed") == ["failed"]
    assert find("is:failed failed") == ["failed"]
    assert find("is:failed used") == []


def test_dates_are_filtered_by_before_and_after(give: Give, find: Find) -> None:
    now = timezone.now()
    give("Old", at=now - timedelta(days=40))
    give("New", at=now)
    day = (now - timedelta(days=10)).date()

    assert find(f"after:{day}") == ["New"]
    assert find(f"before:{day}") == ["Old"]
    assert find(f"after:{now.date()} new") == ["New"]
    assert find(f"before:{now.date()} new") == []
    assert find("after:2999-12-31") == find("before:1900-01-01 old") == []


def test_a_name_matches_its_agent_or_else_a_prefix(
    give: Give, find: Find, others: AgentClient, agent: Agent
) -> None:
    give("By research")
    twin = Agent.objects.create(team=agent.team, agent_id=f"{agent.agent_id}-b")
    deliver(
        twin,
        agent_id=twin.agent_id,
        provider="x",
        type="output",
        headline="By b",
        summary=".",
        at=timezone.now(),
    )
    others.deliver(headline="By writing")

    assert sorted(find("agent:research")) == ["By b", "By research"]
    assert find(f"agent:{agent.agent_id.upper()}") == ["By research"]
    assert find("agent:writing by") == ["By writing"]
    assert find("agent:nobody") == find("agent:nobody by") == []


def test_a_claimed_name_finds_its_deliveries(give: Give, find: Find, agent: Agent) -> None:
    ClaimedId.objects.create(agent=agent, pattern="sub-*")
    give("Under another name", agent_id="sub-7")
    give("Under its own")

    assert find("agent:sub-7") == find("agent:sub under") == ["Under another name"]
    assert len(find("agent:research")) == 2


def test_answers_are_filtered_by_person(
    give: Give, find: Find, answer: Answer, alice: User, bob: User
) -> None:
    answer(give("By alice"), by=alice)
    answer(give("By bob"), by=bob)
    Membership.objects.filter(user=bob).delete()

    assert find("by:ali") == find("by:me") == find("by:alice by") == ["By alice"]
    assert find("by:bob") == find("by:bob by") == ["By bob"]
    assert find("by:mallory") == []


def test_a_colleague_who_left_the_team_is_found_by_their_answers(
    give: Give, find: Find, answer: Answer, bob: User, mallory: User
) -> None:
    answer(give("Answered by Bob"), by=bob)
    Membership.objects.filter(user=bob).delete()

    assert find("by:bob") == ["Answered by Bob"]
    # Mallory belongs to another team, and answered nothing here.
    assert find("by:mallory") == []


def test_a_member_comes_before_a_colleague_of_the_same_name_who_left(
    give: Give, find: Find, answer: Answer, alice: User, bob: User
) -> None:
    User.objects.filter(pk__in=[alice.pk, bob.pk]).update(display_name="Sam")
    answer(give("Answered by the Sam who left"), by=bob)
    answer(give("Answered by the Sam who is here"), by=alice)
    Membership.objects.filter(user=bob).delete()

    assert find("by:sam") == ["Answered by the Sam who is here"]


def test_a_name_matches_people_who_answered_in_these_teams_only(
    give: Give, find: Find, answer: Answer, bob: User
) -> None:
    """The search used to look at the first ten people with that name on the whole server, and could
    miss a person who had left this team."""
    User.objects.filter(pk=bob.pk).update(display_name="Sam")
    namesakes = [User(email=f"sam{number}@example.com", display_name="Sam") for number in range(10)]
    for pk, namesake in enumerate(namesakes, start=-10):
        namesake.pk = pk
    User.objects.bulk_create(namesakes)
    answer(give("Answered by Sam"), by=bob)
    Membership.objects.filter(user=bob).delete()

    assert find("by:sam") == ["Answered by Sam"]


def test_test_deliveries_are_searched_separately(
    give: Give, find: Find, in_test_mode: AgentClient
) -> None:
    give("Live report")
    in_test_mode.deliver(headline="Test report")

    assert find("report") == find("") == ["Live report"]
    assert find("report is:test") == find("is:test") == ["Test report"]


@pytest.mark.parametrize(
    "text",
    ["", "secret", '"the secret"', "-other", "agent:research", "type:output", "is:expired", "by:me",
     "agent:research secret", "after:2000", "status:approved", "thread:t"],
)  # fmt: skip
def test_outsiders_find_nothing(
    give: Give, find: Find, answer: Answer, mallory: User, text: str
) -> None:
    answer(give("The secret", thread="t"), "approved")

    assert find(text, user=mallory) == []


def test_members_of_two_teams_search_both(
    give: Give, find: Find, mallory: User, alice: User
) -> None:
    give("Garden report")
    team = mallory.teams.get()
    agent = Agent.objects.create(team=team, agent_id="other-agent")
    deliver(agent, agent_id="other-agent", provider="x", type="output", headline="Other report",
            summary=".", at=timezone.now())  # fmt: skip
    assert find("report") == ["Garden report"]

    Membership.objects.create(team=team, user=alice, role="reader")

    assert find("report") == find("") == ["Other report", "Garden report"]


@pytest.mark.parametrize("text", ["", "report", "by:alice", "by:alice report", "agent:research"])
def test_pages_show_everything_once_and_newest_first(
    give: Give, find: Find, answer: Answer, alice: User, text: str
) -> None:
    now = timezone.now()
    for number in reversed(range(PAGE + 7)):
        at = now - timedelta(days=number * 3)
        answer(give(f"Report {number}", at=at), at=at)
    find("")
    search, before = Search.of(Viewer.of(alice), read(text)), None
    pages: list[list[str]] = []

    while before or not pages:
        rows, before = search.newest(lambda rows: rows, at=now + timedelta(days=1), before=before)
        pages.append([row.headline for row in rows])

    assert [len(page) for page in pages] == [PAGE, 7]
    assert [*pages[0], *pages[1]] == [f"Report {number}" for number in range(PAGE + 7)]


def test_an_answer_days_later_moves_a_delivery_to_the_top(
    give: Give, find: Find, answer: Answer
) -> None:
    now = timezone.now()
    old = give("Old report", at=now - timedelta(days=90))
    give("New report", at=now - timedelta(days=1))
    assert find("report") == ["New report", "Old report"]

    answer(old, at=now)

    assert find("report") == ["Old report", "New report"]


def test_hostile_search_text_is_plain_text(give: Give, find: Find) -> None:
    give("Harmless")

    for text in ["' OR 1=1 --", "x'); --", "a:* & !b | (c", "NEAR(a b)", "* AND", "{a}", "words:x"]:
        assert find(text) == []
    assert find("harmless:*") == find("'harmless'") == ["Harmless"]
