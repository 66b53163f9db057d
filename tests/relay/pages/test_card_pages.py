"""Owners publish an agent, and edit its card and its callers. The other members can read both."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, AuditEvent, Team, User
from relay.cards import callers
from relay.cards.publishing import publish
from relay.models import CallerKey, Card
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

FORM = {
    "description": "Compares competitors.\r\nTen at a time.",
    "access": "key",
    "reply_policy": "owner",
    "input_modes": "text/plain\r\napplication/json",
    "output_modes": "text/plain\r\napplication/json",
    "timeout_seconds": "3600",
    "max_concurrency": "4",
    "profile": "both",
    "version": "1.0.0",
    "skill-TOTAL_FORMS": "1",
    "skill-INITIAL_FORMS": "0",
}
SKILL = {
    "skill-0-name": "Deploy Review",
    "skill-0-description": "Looks at what is about to be deployed.",
    "skill-0-tags": "deploy, review, deploy",
    "skill-0-examples": "Review the latest one\r\n\r\nIs it safe?",
}


def save(person: Person, agent: Agent, **fields: Any) -> Any:
    return person.client.post(f"/agents/{agent.pk}/card/", {**FORM, **fields}, follow=True)


def issue(person: Person, agent: Agent, **fields: Any) -> Any:
    version = CallerKey.objects.filter(team=agent.team).count()
    given = {"name": "Build server", "days": "", "version": version, **fields}
    return person.client.post(f"/agents/{agent.pk}/callers/new/", given)


# The card -----------------------------------------------------------------------------------------


def test_an_owner_publishes_an_agent(alices: Person, agent: Agent) -> None:
    before = text_of(alices.get(f"/agents/{agent.pk}/"))

    page = text_of(save(alices, agent))

    assert "Not published" in before
    assert "research-agent-01 is published. Other agents can now call it." in page
    card_body = Client().get("/@garden/research-agent-01/.well-known/agent-card.json").json()
    assert card_body["description"] == "Compares competitors.\nTen at a time."
    event = AuditEvent.objects.get(event="card.published")
    assert (event.actor_name, event.address) == ("alice", "127.0.0.1")
    after = text_of(alices.get(f"/agents/{agent.pk}/"))
    assert "Callers reach it at http://127.0.0.1:8000/@garden/research-agent-01/." in after


def test_publishing_to_anonymous_callers_asks_for_the_password_again(
    alices: Person, card: Card
) -> None:
    """An open page used to be enough to publish an agent to everyone, while one caller key needed
    the password."""
    session = alices.client.session
    session["password_at"] = (timezone.now() - timedelta(minutes=16)).timestamp()
    session.save()
    here = f"/agents/{card.agent.pk}/card/"

    opened = alices.client.post(here, {**FORM, "access": "public"})
    changed = alices.client.post(here, {**FORM, "access": "key"})

    assert (opened.status_code, changed.status_code) == (303, 303)
    assert opened["Location"].startswith("/sudo/?next=")
    assert changed["Location"] == here
    card.refresh_from_db()
    assert (card.access, card.description) == ("key", "Compares competitors.\nTen at a time.")
    Card.objects.update(access="public")
    assert alices.client.post(here, {**FORM, "access": "public"})["Location"] == here


def test_an_owner_describes_the_skills(alices: Person, card: Card) -> None:
    page = save(alices, card.agent, **SKILL)

    card.refresh_from_db()
    assert card.skills == [
        {
            "id": "deploy-review",
            "name": "Deploy Review",
            "description": "Looks at what is about to be deployed.",
            "tags": ["deploy", "review"],
            "examples": ["Review the latest one", "Is it safe?"],
        }
    ]
    assert card.version == "1.0.1"
    assert "Saved." in text_of(page)
    assert 'name="skill-0-name" value="Deploy Review"' in page.content.decode()


def test_saving_an_unchanged_form_changes_nothing(alices: Person, card: Card) -> None:
    save(alices, card.agent, **SKILL)
    card.refresh_from_db()
    answer_page = alices.get(f"/agents/{card.agent.pk}/card/").context

    again = {
        **{
            name: answer_page["form"][name].value()
            for name in ("access", "reply_policy", "profile")
        },
        **{field.html_name: field.value() or "" for field in answer_page["skills"][0]},
        "version": "1.0.1",
        "skill-TOTAL_FORMS": "2",
        "skill-INITIAL_FORMS": "1",
    }
    save(alices, card.agent, **again)

    then = card.skills
    card.refresh_from_db()
    assert (card.skills, card.version) == (then, "1.0.1")
    assert AuditEvent.objects.filter(event="card.changed").count() == 1


def test_a_skill_is_taken_off_the_card(alices: Person, card: Card) -> None:
    save(alices, card.agent, **SKILL)

    counts = {"skill-TOTAL_FORMS": "2", "skill-INITIAL_FORMS": "1"}
    save(alices, card.agent, **SKILL, **counts, **{"skill-0-DELETE": "on"})

    card.refresh_from_db()
    assert card.skills == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"input_modes": "text"}, "text is not a media type"),
        ({"access": "nobody"}, "nobody is not one of the available choices"),
        ({"timeout_seconds": "0"}, "greater than or equal to 1"),
        ({"version": ""}, "This field is required."),
        ({**SKILL, "skill-0-tags": " , "}, "Enter at least one."),
        (
            {
                **SKILL,
                **{name.replace("0", "1"): value for name, value in SKILL.items()},
                "skill-TOTAL_FORMS": "2",
            },
            "Two skills have the same ID",
        ),
    ],
)
def test_an_invalid_card_is_shown_again_with_the_reason(
    alices: Person, card: Card, wrong: dict[str, str], words: str
) -> None:
    page = save(alices, card.agent, **{"description": "Rewritten.", **wrong})

    assert page.status_code == 422
    assert "Couldn't save." in text_of(page)
    assert words in text_of(page)
    assert "Rewritten." in page.content.decode()
    card.refresh_from_db()
    assert card.description == "Compares competitors."


@pytest.mark.parametrize(
    "form",
    [
        {},
        {**FORM, "skill-TOTAL_FORMS": "x"},
        {**FORM, "skill-TOTAL_FORMS": "99999"},
        {**FORM, "skill-INITIAL_FORMS": "1"},
        {**FORM, "callers": ["no-id"]},
        {**FORM, "description": "x\x00"},
    ],
)
def test_an_invalid_form_changes_nothing(alices: Person, card: Card, form: dict[str, Any]) -> None:
    answer = alices.client.post(f"/agents/{card.agent.pk}/card/", form)

    assert answer.status_code == 422
    card.refresh_from_db()
    assert card.description == "Compares competitors."


def test_an_owner_names_the_keys_that_may_call(
    alices: Person, card: Card, caller_key: CallerKey
) -> None:
    save(alices, card.agent, access="allowlist", callers=[str(caller_key.pk)])

    card.refresh_from_db()
    assert card.accepts(caller_key)
    assert not card.accepts(callers.mint(card.agent.team, name="Other", by=SYSTEM)[0])


def test_keys_of_another_team_cannot_be_named(alices: Person, card: Card, mallory: User) -> None:
    theirs, _ = callers.mint(mallory.teams.get(), name="Theirs", by=SYSTEM)

    page = save(alices, card.agent, access="allowlist", callers=[str(theirs.pk)])

    assert page.status_code == 422
    assert not card.callers.exists()
    assert theirs.hint not in page.content.decode()


def test_an_owner_unpublishes_an_agent(alices: Person, card: Card) -> None:
    page = alices.client.post(f"/agents/{card.agent.pk}/card/unpublish", follow=True)

    assert "research-agent-01 is no longer published. Its card is kept here." in text_of(page)
    assert "Compares competitors." in page.content.decode()
    assert not Card.objects.published().exists()


def test_an_agent_id_that_does_not_fit_a_url_shows_an_error(alices: Person, team: Team) -> None:
    agent = Agent.objects.create(team=team, agent_id="team/agent")

    page = alices.get(f"/agents/{agent.pk}/card/")
    answer = save(alices, agent)

    assert "can't be published" in text_of(page)
    assert "<textarea" not in page.content.decode()
    assert answer.status_code == 422
    assert not Card.objects.exists()


@pytest.mark.parametrize("role", ["bobs", "ritas"])
def test_only_owners_change_the_card_and_others_read_it(
    role: str, request: pytest.FixtureRequest, card: Card
) -> None:
    person: Person = request.getfixturevalue(role)

    page = person.get(f"/agents/{card.agent.pk}/card/")
    answers = [
        save(person, card.agent, description="Mine."),
        person.client.post(f"/agents/{card.agent.pk}/card/unpublish"),
    ]

    assert "Description Compares competitors." in text_of(page)
    assert "<textarea" not in page.content.decode()
    assert [answer.status_code for answer in answers] == [403, 403]
    card.refresh_from_db()
    assert (card.description, card.enabled) == ("Compares competitors.", True)


# Its callers --------------------------------------------------------------------------------------


def test_a_caller_key_is_shown_once(alices: Person, card: Card) -> None:
    answer_page = issue(alices, card.agent, days="30")

    [text] = re.findall(r"wk_call_\w{36}", answer_page.content.decode())
    assert "no-store" in answer_page["Cache-Control"]
    key = callers.find(text, at=timezone.now())
    assert key is not None
    assert (key.name, key.issued_by, key.team) == ("Build server", "alice", card.agent.team)
    assert key.expires_at is not None
    assert timedelta(days=29) < key.expires_at - timezone.now() < timedelta(days=30)
    page = alices.get(f"/agents/{card.agent.pk}/callers/")
    assert "Build server Active" in text_of(page)
    assert key.hint in text_of(page)
    assert text not in page.content.decode()


def test_the_same_form_sent_again_makes_no_second_key(alices: Person, card: Card) -> None:
    issue(alices, card.agent, version=0)

    again = issue(alices, card.agent, version=0)

    assert again.status_code == 410
    assert "No longer visible" in text_of(again)
    assert CallerKey.objects.count() == 1


def test_a_key_that_is_issued_from_an_agents_page_may_call_that_agent(
    alices: Person, card: Card
) -> None:
    publish(card.agent, by=SYSTEM, at=timezone.now(), access="allowlist")

    issue(alices, card.agent)

    card.refresh_from_db()
    assert card.accepts(CallerKey.objects.get())
    page = text_of(alices.get(f"/agents/{card.agent.pk}/callers/"))
    assert "Build server Active Selected" in page


def test_issuing_and_revoking_ask_for_the_password_again(
    alices: Person, card: Card, caller_key: CallerKey
) -> None:
    session = alices.client.session
    session["password_at"] = (timezone.now() - timedelta(minutes=16)).timestamp()
    session.save()
    here = f"/agents/{card.agent.pk}/callers/"

    answers = [
        alices.get(f"{here}new/"),
        issue(alices, card.agent),
        alices.client.post(f"{here}{caller_key.pk}/revoke"),
    ]

    assert [answer.status_code for answer in answers] == [303, 303, 303]
    assert all(answer["Location"].startswith("/sudo/?next=") for answer in answers)
    assert [key.revoked_at for key in CallerKey.objects.all()] == [None]
    assert alices.get(here).status_code == 200


def test_an_owner_revokes_a_caller_key(alices: Person, card: Card, caller_key: CallerKey) -> None:
    page = alices.client.post(
        f"/agents/{card.agent.pk}/callers/{caller_key.pk}/revoke", follow=True
    )

    assert "The key of Build server was revoked. It no longer works." in text_of(page)
    assert "Build server Revoked" in text_of(page)
    assert callers.find(caller_key.text, at=timezone.now()) is None  # type: ignore[attr-defined]
    assert AuditEvent.objects.get(event="caller_key.revoked").actor_name == "alice"


@pytest.mark.parametrize("name", ["", "two\nlines"])
def test_a_caller_without_a_proper_name_gets_no_key(alices: Person, card: Card, name: str) -> None:
    page = issue(alices, card.agent, name=name)

    assert page.status_code == 422
    assert not CallerKey.objects.exists()


@pytest.mark.parametrize("role", ["bobs", "ritas"])
def test_only_owners_issue_caller_keys_and_others_see_them(
    role: str, request: pytest.FixtureRequest, card: Card, caller_key: CallerKey
) -> None:
    person: Person = request.getfixturevalue(role)
    here = f"/agents/{card.agent.pk}/callers/"

    page = person.get(here)
    answers = [
        person.get(f"{here}new/"),
        issue(person, card.agent),
        person.client.post(f"{here}{caller_key.pk}/revoke"),
    ]

    assert "Build server Active" in text_of(page)
    assert "<button" not in page.content.decode().partition("<main")[2]
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert [key.revoked_at for key in CallerKey.objects.all()] == [None]


@pytest.mark.parametrize(
    ("access", "words"),
    [
        ("public", "Anyone on the internet can call this agent without a key"),
        ("key", "Anyone with one of the team's caller keys can call this agent."),
        ("allowlist", "Only the caller keys selected on the agent's card can call this agent."),
    ],
)
def test_the_page_shows_who_may_call(alices: Person, card: Card, access: str, words: str) -> None:
    publish(card.agent, by=SYSTEM, at=timezone.now(), access=access)

    assert words in text_of(alices.get(f"/agents/{card.agent.pk}/callers/"))
