"""Rules that answer have a page with their results; owners turn them on and off."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Membership, Team, User
from accounts.sign_in.browsers import session_names
from tests.fixtures.answering_rules import run_rules
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeAnsweringRule, MakeDelivery
from wake.answering import results
from wake.models import AnsweringRule, Response

RULES = "/settings/rules/garden/"
NEW = f"{RULES}answering/new/"


def page_of(rule: AnsweringRule, action: str = "") -> str:
    return f"{RULES}answering/{rule.pk}/{action}"


def act(who: Person, rule: AnsweringRule, action: str, **fields: Any) -> Any:
    version = AnsweringRule.objects.get(pk=rule.pk).version
    return who.client.post(page_of(rule, action), {"version": version, **fields}, follow=True)


def state_of(rule: AnsweringRule) -> str:
    return AnsweringRule.objects.get(pk=rule.pk).state


def test_an_owner_adds_a_rule_which_starts_as_a_dry_run(alices: Person, bobs: Person) -> None:
    fields = {
        "rule_name": "Small refunds",
        "types": ["question"],
        "pointer": "/total",
        "operator": "at_most",
        "value": "20",
        "most_a_day": "30",
        "ask_people_days": "3",
        "days": "14",
    }

    saved = text_of(alices.client.post(NEW, fields, follow=True))

    assert "Saved. It's a dry run until an owner turns it on." in saved
    assert "Remove rule" in saved
    assert "Questions where /total is at most “20”: approves up to 30 a day." in saved
    assert "After a rejection, an agent's deliveries go to people for 3 days." in saved
    assert "This is a dry run: it approves nothing" in saved
    assert "No matching delivery has been answered yet." in saved
    listed = text_of(bobs.get(RULES))
    assert "Small refunds" in listed
    assert "Dry run" in listed


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"types": []}, "Choose questions, outputs, or both."),
        ({"types": ["alert"]}, "alert is not one of the available choices."),
        ({"most_a_day": "501"}, "less than or equal to 500"),
        ({"ask_people_days": "31"}, "less than or equal to 30"),
        ({"rule_name": " "}, "Enter a name."),
        ({"value": "20"}, "Choose a comparison, or empty both fields."),
    ],
)
def test_a_wrong_form_keeps_what_was_typed(
    alices: Person, fields: dict[str, Any], message: str
) -> None:
    given = {
        "rule_name": "Refunds",
        "types": ["output"],
        "most_a_day": "9",
        "days": "14",
        "ask_people_days": "1",
    }

    answer = alices.client.post(NEW, {**given, "thread_prefix": "refund-", **fields})

    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert message in text_of(answer)
    assert b'value="refund-"' in answer.content
    assert not AnsweringRule.objects.exists()


def test_the_page_compares_with_what_people_answered(
    alices: Person,
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
) -> None:
    rule = make_answering_rule()
    for _ in range(2):
        answer(make_delivery())
    wrong = make_delivery(headline="Refund to a stranger")
    answer(wrong, "rejected")
    run_rules(at=timezone.now())

    page = alices.get(page_of(rule))

    assert "People approved 2 of 3 answered deliveries." in text_of(page)
    assert "Rejected: Refund to a stranger" in text_of(page)
    assert f"/deliveries/{wrong.pk}/".encode() in page.content


def test_a_null_character_in_a_reason_is_removed(
    alices: Person, make_answering_rule: MakeAnsweringRule
) -> None:
    rule = make_answering_rule()

    on = text_of(act(alices, rule, "switch", state="on", reason="We tried it\0 by hand."))

    assert "“We tried it by hand.”" in on
    assert state_of(rule) == "on"


def test_a_rule_is_turned_on_with_a_reason_and_off_with_one_click(
    alices: Person, make_answering_rule: MakeAnsweringRule
) -> None:
    rule = make_answering_rule()

    refused = act(alices, rule, "switch", state="on", reason="no idea")
    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "Give a reason (at least 10 characters) to turn it on anyway." in text_of(refused)
    assert b'value="no idea"' in refused.content
    assert state_of(rule) == "shadow"

    on = text_of(act(alices, rule, "switch", state="on", reason="We tried it by hand."))
    assert "“We tried it by hand.”" in on
    assert state_of(rule) == "on"

    act(alices, rule, "switch", state="off")
    assert state_of(rule) == "off"
    act(alices, rule, "switch", state="shadow")
    assert state_of(rule) == "shadow"


def test_turning_on_asks_for_the_password_and_turning_off_does_not(
    alices: Person, make_answering_rule: MakeAnsweringRule
) -> None:
    rule = make_answering_rule()
    session = alices.client.session
    session[session_names.PASSWORD] = (timezone.now() - timedelta(minutes=16)).timestamp()
    session.save()

    asked = act(alices, rule, "switch", state="on", reason="We tried it by hand.")
    assert asked.redirect_chain[0][0].startswith("/sudo/")
    assert state_of(rule) == "shadow"

    act(alices, rule, "switch", state="off")
    assert state_of(rule) == "off"


def test_the_page_lists_what_it_approved(
    bobs: Person, make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    rule = make_answering_rule(on=True)
    delivery = make_delivery(headline="Refund of 9 euros")
    run_rules(at=timezone.now())

    text = text_of(bobs.get(page_of(rule)))
    assert "Refund of 9 euros" in text
    detail = bobs.get(f"/deliveries/{delivery.pk}/")
    assert "Approved by the rule “Small refunds”" in text_of(detail)


def test_a_person_who_is_too_late_is_told_of_the_rule(
    bobs: Person, make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    make_answering_rule(on=True)
    delivery = make_delivery()
    run_rules(at=timezone.now())
    form = {"status": "rejected", "content_hash": delivery.content_hash}

    answer = bobs.client.post(f"/deliveries/{delivery.pk}/response", form)

    assert answer.status_code == HTTPStatus.CONFLICT
    assert "The rule “Small refunds” answered first" in text_of(answer)


def test_a_reviewer_undoes_what_a_rule_approved(
    bobs: Person,
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    team: Team,
) -> None:
    Membership.objects.filter(user=bobs.user).update(role="reviewer")
    rule = make_answering_rule(on=True)
    delivery = make_delivery()
    run_rules(at=timezone.now())
    assert b"/undo" in bobs.get(f"/deliveries/{delivery.pk}/").content

    bobs.client.post(f"/deliveries/{delivery.pk}/undo", follow=True)

    assert not Response.objects.exists()
    make_delivery()
    run_rules(at=timezone.now())
    page = text_of(bobs.get(page_of(rule)))
    assert "because people disagreed with it" in page
    assert "undone" in page
    assert "Stopped" in text_of(bobs.get(RULES))


def test_the_page_says_that_people_are_asked_after_a_rejection(
    alices: Person,
    bobs: Person,
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
) -> None:
    rule = make_answering_rule(on=True, ask_people_days=2)
    given = make_delivery(headline="Refund to a stranger")
    assert "Left to people now" not in text_of(alices.get(page_of(rule)))

    answer(given, "redirected", feedback="To the other account.", held=True)

    page = alices.get(page_of(rule))
    assert "People asked for changes to Refund to a stranger" in text_of(page)
    assert f"deliveries from {given.agent.agent_id} go to people until" in text_of(page)
    until = Response.objects.get().answered_at + timedelta(days=2)
    assert until.isoformat(timespec="minutes").encode() in page.content
    assert "Let it answer again now" in text_of(page)
    assert "Let it answer again now" not in text_of(bobs.get(page_of(rule)))


def test_an_owner_lets_a_rule_answer_again_with_the_password(
    alices: Person,
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(results, "ONE_IN", 0)  # a contradiction keeps the rule on
    rule = make_answering_rule(on=True)
    response = answer(make_delivery(), "rejected")
    make_delivery()
    seen = response.answered_at.isoformat()
    fresh = alices.client.session[session_names.PASSWORD]
    session = alices.client.session
    session[session_names.PASSWORD] = (timezone.now() - timedelta(minutes=16)).timestamp()
    session.save()

    asked = act(alices, rule, "again", seen=seen)
    assert asked.redirect_chain[0][0].startswith("/sudo/")
    assert AnsweringRule.objects.get().counts_refusals_after is None

    session[session_names.PASSWORD] = fresh
    session.save()
    for wrong in ("", "yesterday", "2026-01-01T00:00:00", "9" * 5000):
        assert "Left to people now" in text_of(act(alices, rule, "again", seen=wrong))
    assert "Left to people now" not in text_of(act(alices, rule, "again", seen=seen))
    assert run_rules(at=timezone.now()) == 1


def test_a_page_of_an_earlier_version_changes_nothing(
    alices: Person, make_answering_rule: MakeAnsweringRule
) -> None:
    rule = make_answering_rule()

    for version in ("0", "2", "x", "9" * 5000):
        text = text_of(act(alices, rule, "remove", version=version))
        assert "The rules have changed since you opened this page." in text

    assert AnsweringRule.objects.get().removed_at is None
    assert "Refunds" not in text_of(alices.get(page_of(rule)))
    changed = {
        "rule_name": "Refunds",
        "types": ["output"],
        "most_a_day": "9",
        "days": "14",
        "ask_people_days": "1",
    }
    assert "version 2" in text_of(act(alices, rule, "change/", **changed))


def test_a_removed_rule_is_not_there(
    alices: Person, make_answering_rule: MakeAnsweringRule, alice: User
) -> None:
    rule = make_answering_rule()

    act(alices, rule, "remove")

    assert alices.get(page_of(rule)).status_code == HTTPStatus.NOT_FOUND
    assert "Small refunds" not in text_of(alices.get(RULES))


def test_a_long_list_has_pages(
    alices: Person, make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    now = timezone.now()
    rule = make_answering_rule(on=True, most_a_day=500, at=now)
    for number in range(51):
        make_delivery(headline=f"Refund {number:02}", at=now + timedelta(seconds=number + 1))
    run_rules(at=now + timedelta(minutes=5))

    assert "?page=2" in alices.get(page_of(rule)).content.decode()
    assert alices.get(page_of(rule, "?page=2")).content.count(b"Refund ") == 1
    assert alices.get(page_of(rule, f"?page={'9' * 5000}")).status_code == HTTPStatus.OK
