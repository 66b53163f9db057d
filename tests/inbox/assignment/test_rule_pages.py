"""Pages show the rules of a team as sentences. Owners change the rules, and every member may try
them."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Agent, Membership, Team, User
from inbox.assignment import sentences
from tests.fixtures.answering_rules import run_rules
from tests.inbox.person import Person, text_of
from tests.types import MakeAnsweringRule, MakeDelivery, MakeRule
from wake.assignment.trying import MAX_NAMED
from wake.models import Rule, RuleVersion
from wake.responses import release_due

RULES = "/settings/rules/garden/"
NO_COMPARISON = "Choose a comparison, or empty both fields."


def rules_version(team: Team) -> int:
    return Team.objects.get(pk=team.pk).rules_version


def form(team: Team, **fields: Any) -> dict[str, Any]:
    given = {
        "rule_name": "Refunds",
        "role": "owner",
        "days": "30",
        "rules_version": rules_version(team),
    }
    return {**given, **fields}


def act(who: Person, rule: Rule, action: str, **fields: Any) -> Any:
    given = {"rules_version": rules_version(rule.team), **fields}
    return who.client.post(f"{RULES}{rule.pk}/{action}", given, follow=True)


def listed(team: Team) -> list[str]:
    return [version.rule.name for version in RuleVersion.objects.of_team(team)]


def test_an_owner_adds_a_rule_and_the_page_says_it(
    alices: Person, bobs: Person, team: Team, agent: Agent
) -> None:
    fields = {
        "types": ["question", "alert"],
        "agents": [str(agent.pk)],
        "thread_prefix": "refund-",
        "pointer": "/order/total",
        "operator": "at_least",
        "value": "500",
        "people": [str(bobs.user.pk)],
        "only_they": "on",
        "must_wait": "on",
        "claim_within_minutes": "30",
    }

    saved = alices.client.post(f"{RULES}new/", form(team, **fields), follow=True)

    text = text_of(saved)
    assert "Saved." in text
    assert (
        "Questions and alerts from research-agent-01 in threads that begin with “refund-” where "
        "/order/total is at least “500” go to bob and all owners. Only they can answer. If no "
        "one answers, the agent waits. An approval has to be used within 30 minutes." in text
    )
    version = RuleVersion.objects.get()
    assert timedelta(days=29) < version.expires_at - timezone.now() <= timedelta(days=30)
    assert "Only team owners can change the rules." in text_of(bobs.get(RULES))
    assert b"<button" not in bobs.get(RULES).content.partition(b'id="try"')[0].partition(b"<ol")[2]


def test_every_field_of_the_form_is_on_its_page(alices: Person, agent: Agent, team: Team) -> None:
    response = alices.get(f"/settings/rules/{team.slug}/new/")

    page = response.content.decode()
    assert [name for name in response.context["form"].fields if f'name="{name}"' not in page] == []
    headings = [page.index(f">{words}</h3>") for words in ("Deliveries", "People")]
    assert headings == sorted(headings)


def test_the_form_of_a_new_rule_offers_both_kinds(alices: Person) -> None:
    kinds = {"Assignment rule": f"{RULES}new/", "Answering rule": f"{RULES}answering/new/"}

    for chosen, path in kinds.items():
        page = alices.get(path).content.decode()

        assert all(f'href="{other}"' in page for other in kinds.values())
        assert f'href="{path}" aria-current="page">{chosen}</a>' in page


def test_the_kind_of_a_rule_stays(
    make_rule: MakeRule, make_answering_rule: MakeAnsweringRule, alices: Person, bob: User
) -> None:
    rule, answering = make_rule("To Bob", people=[bob]), make_answering_rule()

    for path in (f"{RULES}{rule.pk}/", f"{RULES}answering/{answering.pk}/change/"):
        assert 'aria-label="Kind of rule"' not in alices.get(path).content.decode()
    for path in (f"{RULES}{answering.pk}/", f"{RULES}answering/{rule.pk}/change/"):
        assert alices.client.get(path).status_code == 404


def test_a_change_makes_a_version(
    make_rule: MakeRule, alices: Person, team: Team, bob: User
) -> None:
    rule = make_rule("Bo's", people=[bob], types=["alert"], claim_within_seconds=3600)
    path = f"{RULES}{rule.pk}/"
    shown = alices.get(path).context["form"]
    assert shown["claim_within_minutes"].value() == 60
    assert (shown["types"].value(), shown["people"].value()) == (["alert"], [bob.pk])

    alices.client.post(path, form(team, rule_name="Alerts", types=["alert"], people=[bob.pk]))

    assert RuleVersion.objects.filter(rule=rule).count() == 2
    assert "Alerts" in text_of(alices.get(RULES))


def test_the_buttons_move_switch_and_remove(
    make_rule: MakeRule, alices: Person, team: Team, bob: User
) -> None:
    first, second = make_rule("First", people=[bob]), make_rule("Second", people=[bob])

    act(alices, second, "move", to="up")
    assert listed(team) == ["Second", "First"]
    act(alices, second, "move", to="down")
    assert listed(team) == ["First", "Second"]
    assert "Off" in text_of(act(alices, first, "switch", state="off"))
    act(alices, first, "switch", state="on")
    assert Rule.objects.get(pk=first.pk).state == "on"
    act(alices, first, "remove")
    assert listed(team) == ["Second"]
    assert alices.get(f"{RULES}{first.pk}/").status_code == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize("stale", ["", "1", "x", "9" * 40])
def test_a_click_on_an_old_page_changes_nothing(
    make_rule: MakeRule, alices: Person, bob: User, stale: str
) -> None:
    rule = make_rule(people=[bob])

    answer = act(alices, rule, "remove", rules_version=stale)

    assert "The rules have changed since you opened this page." in text_of(answer)
    assert Rule.objects.get().removed_at is None


def test_a_form_of_an_old_page_keeps_what_was_typed_and_can_be_sent_again(
    make_rule: MakeRule, alices: Person, team: Team, bob: User
) -> None:
    old = form(team)
    make_rule(people=[bob])

    refused = alices.client.post(f"{RULES}new/", old)

    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert b'value="Refunds"' in refused.content
    assert f'value="{rules_version(team)}"'.encode() in refused.content
    alices.client.post(f"{RULES}new/", form(team))
    assert listed(team) == ["A rule", "Refunds"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"role": ""}, "Choose at least one person, or a role."),
        ({"pointer": "total", "operator": "is"}, "A pointer is written like /order/total."),
        ({"pointer": "/v", "operator": "at_most", "value": "x"}, "Compare with a number."),
        ({"days": "91"}, "Check the highlighted fields."),
        ({"rule_name": ""}, "Enter a name."),
        ({"people": ["7000000"]}, "Check the highlighted fields."),
        ({"people": ["x"]}, "Check the highlighted fields."),
        ({"agents": ["x"]}, "Check the highlighted fields."),
        ({"types": ["letter"]}, "Check the highlighted fields."),
        ({"operator": "resembles"}, "Check the highlighted fields."),
        ({"pointer": "/order/total"}, NO_COMPARISON),
        ({"value": "500"}, NO_COMPARISON),
        ({"role_2": "owner"}, "Enter the minutes for this step, or choose no one."),
        ({"thread_prefix": "\x00"}, "Check the highlighted fields."),
    ],
)
def test_a_form_says_what_is_wrong(alices: Person, team: Team, fields: Any, reason: str) -> None:
    refused = alices.client.post(f"{RULES}new/", form(team, **fields))

    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert reason in " ".join(text_of(refused).split())
    assert not Rule.objects.exists()


def test_a_person_who_left_is_named_so(make_rule: MakeRule, alices: Person, bob: User) -> None:
    make_rule(people=[bob])
    Membership.objects.filter(user=bob).delete()

    assert f"go to {sentences.LEFT}." in text_of(alices.get(RULES))


def test_the_last_days_are_tried(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, ritas: Person, bob: User
) -> None:
    make_rule("Bo's", people=[bob], pointer="/v", operator="is", value="bo")
    make_rule("Off", role="owner", types=["alert"])
    make_delivery(details_json='{"v": "bo"}', at=timezone.now() - timedelta(days=31))
    for number in range(5):
        make_delivery(details_json='{"v": "bo"}' if number < 2 else None)

    text = text_of(ritas.get(f"{RULES}try/"))

    assert "2 of 5 would have gone to bob by “Bo's”." in text
    assert "3 of 5 match no rule." in text
    assert "Off" not in text.partition("Try the rules")[2]


def test_the_trial_says_how_people_answered(
    make_rule: MakeRule, make_delivery: MakeDelivery, answer: Any, alices: Person
) -> None:
    make_rule("Owners", role="owner")
    rejected, redirected = make_delivery(headline="Pay twice"), make_delivery(headline="Refund")
    answer(rejected, "rejected")
    answer(redirected, "redirected", feedback="Less.")
    for _ in range(2):
        answer(make_delivery())
    answer(make_delivery(headline="Undoable"), "rejected", held=True)
    make_delivery()

    page = alices.get(f"{RULES}try/")

    text = " ".join(text_of(page).split())
    assert "6 of 6 would have gone to alice by “Owners”." in text
    assert "People approved 2 of 4 answered deliveries. Not approved:" in text
    assert "Rejected: Pay twice" in text
    assert "Changes requested: Refund" in text
    assert "Undoable" not in text
    assert f'href="/deliveries/{rejected.pk}/"' in page.content.decode()


def test_the_trial_leaves_out_answers_of_rules(
    make_rule: MakeRule,
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Any,
    alices: Person,
) -> None:
    make_rule("Owners", role="owner")
    make_answering_rule(on=True)
    make_delivery()
    now = timezone.now()
    assert run_rules(at=now) == 1
    release_due(at=now + timedelta(hours=1))
    answer(make_delivery(headline="Pay twice"), "rejected")

    text = " ".join(text_of(alices.get(f"{RULES}try/")).split())

    assert "2 of 2 would have gone to alice by “Owners”." in text
    assert "People approved 0 of 1 answered deliveries." in text


def test_the_trial_names_only_so_many_answers(
    make_rule: MakeRule, make_delivery: MakeDelivery, answer: Any, alices: Person
) -> None:
    make_rule("Owners", role="owner")
    answer(make_delivery(headline="Older"), "rejected")
    for _ in range(MAX_NAMED):
        answer(make_delivery(headline="Newer"), "rejected")

    text = " ".join(text_of(alices.get(f"{RULES}try/")).split())

    assert "People approved 0 of 6 answered deliveries. The newest 5 of the other 6:" in text
    assert "Rejected: Newer" in text
    assert "Older" not in text


def test_only_so_many_are_tried(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, monkeypatch: Any
) -> None:
    # On a busy machine, the two seconds of a trial are not enough for all 500 deliveries.
    monkeypatch.setattr("wake.assignment.trying.MAX_TRIED", 3)
    make_rule("Owners", role="owner")
    for _ in range(5):
        make_delivery()

    text = text_of(alices.get(f"{RULES}try/"))

    assert "3 of 3 would have gone to alice by “Owners”." in text
    assert "These are the newest 3 of the last 30 days." in text


def test_one_delivery_is_tried(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, bob: User
) -> None:
    alert, output = make_delivery(type="alert", headline="Look"), make_delivery()
    make_rule("Bo's", people=[bob], types=["alert"])

    by_id = text_of(alices.get(f"{RULES}try/", delivery=str(alert.pk)))
    by_address = text_of(
        alices.get(f"{RULES}try/", delivery=f"https://wake.example.com/deliveries/{output.pk}/")
    )

    assert "Look It would go to bob by “Bo's”." in by_id
    assert "No rule matches it, so it would go to all owners and reviewers." in by_address


@pytest.mark.parametrize("text", ["x", "00000000-0000-4000-8000-000000000000"])
def test_a_delivery_that_is_not_there(alices: Person, text: str) -> None:
    page = alices.get(f"{RULES}try/", delivery=text)

    assert "There is no delivery with this ID in this team." in text_of(page)


def test_a_delivery_of_another_team_is_not_there(
    make_delivery: MakeDelivery, mallory: User
) -> None:
    delivery = make_delivery()

    page = Person(mallory).get("/settings/rules/other/try/", delivery=str(delivery.pk))

    assert "There is no delivery with this ID in this team." in text_of(page)
    assert delivery.headline not in text_of(page)


def test_the_overview_leads_to_the_rules(alices: Person, make_rule: MakeRule) -> None:
    for_whom = "Decide who is asked, and approve routine deliveries."
    assert f"Rules None Change {for_whom}" in text_of(alices.get("/settings/"))
    rule = make_rule(role="owner")
    assert f"Rules 1 Change {for_whom}" in text_of(alices.get("/settings/"))
    act(alices, rule, "remove")
    assert f"Rules None Change {for_whom}" in text_of(alices.get("/settings/"))
    assert "Rules of Garden" in text_of(alices.get("/settings/rules/"))


def test_a_member_of_two_teams_chooses_whose_rules(
    alices: Person,
    make_rule: MakeRule,
    make_answering_rule: MakeAnsweringRule,
    mallory: User,
    django_assert_max_num_queries: Any,
) -> None:
    gone = make_rule(role="owner")
    make_answering_rule()
    other = mallory.memberships.get().team
    Membership.objects.create(user=alices.user, team=other, role=Membership.Role.READER)

    with django_assert_max_num_queries(5):
        page = text_of(alices.get("/settings/rules/"))

    assert "Garden 2 rules" in page
    assert "Other No rules" in page
    act(alices, gone, "remove")
    assert "Garden 1 rule " in text_of(alices.get("/settings/rules/"))
    assert "Rules of all teams" in text_of(alices.get(RULES))


def test_a_rule_says_to_whom_it_escalates(alices: Person, bobs: Person, team: Team) -> None:
    steps = {"after_1": "30", "people_1": [str(bobs.user.pk)], "after_2": "120", "role_2": "owner"}

    page = alices.client.post(f"{RULES}new/", form(team, **steps), follow=True)

    assert "After 30 minutes without an answer, bob is added." in text_of(page)
    assert "After 2 hours without an answer, all owners are added." in text_of(page)
    version = RuleVersion.objects.get()
    assert version.escalation == [
        {"minutes": 30, "people": [bobs.user.pk], "role": ""},
        {"minutes": 120, "people": [], "role": "owner"},
    ]
    again = alices.get(f"{RULES}{version.rule_id}/").content.decode()
    assert 'name="after_2" value="120"' in again
    assert '<details class="fold" open>' in again


def test_steps_in_the_wrong_order_are_refused(alices: Person, team: Team) -> None:
    steps = {"after_1": "60", "role_1": "owner", "after_2": "30", "role_2": "owner"}

    page = alices.client.post(f"{RULES}new/", form(team, **steps))

    assert page.status_code == 422
    assert "Each step of escalation comes later than the one before" in text_of(page)
    assert not RuleVersion.objects.exists()
