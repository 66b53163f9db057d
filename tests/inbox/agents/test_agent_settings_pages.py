"""Owners rotate an agent's signing secret, grant the agent other ids, and pause the agent."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.agents import aliases, credential_version, quota, signing_secrets
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent, ClaimedId
from pages.times import midnight
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.callbacks.attempts import settle
from wake.callbacks.http_client import HttpResult
from wake.models import Callback


def rotate(person: Person, agent: Agent, **fields: Any) -> Any:
    given = {"version": credential_version.current(agent), **fields}
    return person.client.post(f"/agents/{agent.pk}/secret/", given, follow=True)


def retire(person: Person, agent: Agent, **fields: Any) -> Any:
    given = {"version": credential_version.current(agent), **fields}
    return person.client.post(f"/agents/{agent.pk}/secret/switch", given, follow=True)


def claim(person: Person, agent: Agent, pattern: str) -> Any:
    return person.client.post(f"/agents/{agent.pk}/aliases/", {"pattern": pattern}, follow=True)


def say(person: Person, agent: Agent, what: str) -> Any:
    return person.client.post(f"/agents/{agent.pk}/{what}", follow=True)


# The signing secret -------------------------------------------------------------------------------


def test_a_secret_is_rotated_in_two_steps(alices: Person, agent: Agent) -> None:
    [old] = signing_secrets.secrets_of(agent.pk)

    answer_page = rotate(alices, agent)

    [new] = re.findall(r"whsec_[\w+/=]+", answer_page.content.decode())
    assert "no-store" in answer_page["Cache-Control"]
    assert signing_secrets.secrets_of(agent.pk) == [old, new]
    between = alices.get(f"/agents/{agent.pk}/secret/")
    assert "Two secrets are active" in text_of(between)
    assert new not in between.content.decode()
    page = text_of(retire(alices, agent))
    assert "The old secret was retired." in page
    assert signing_secrets.secrets_of(agent.pk) == [new]


def test_the_same_form_sent_again_makes_no_second_secret(alices: Person, agent: Agent) -> None:
    version = credential_version.current(agent)
    rotate(alices, agent, version=version)

    again = rotate(alices, agent, version=version)

    assert again.status_code == 410
    assert len(signing_secrets.secrets_of(agent.pk)) == 2


def test_a_rotation_under_way_is_ended_before_the_next(alices: Person, agent: Agent) -> None:
    rotate(alices, agent)

    page = text_of(rotate(alices, agent))

    assert "Two secrets are already active. Retire the older one first." in page
    assert len(signing_secrets.secrets_of(agent.pk)) == 2


def test_a_stale_page_does_not_end_the_next_rotation(alices: Person, agent: Agent) -> None:
    rotate(alices, agent)
    stale = credential_version.current(agent)
    retire(alices, agent)
    rotate(alices, agent)

    page = text_of(retire(alices, agent, version=stale))

    assert "No secret was retired. Check the page and try again." in page
    assert len(signing_secrets.secrets_of(agent.pk)) == 2


# Other ids ----------------------------------------------------------------------------------------


def test_an_orchestrator_delivers_under_a_granted_id_until_it_is_taken_back(
    alices: Person, agent: Agent, caller: AgentClient
) -> None:
    as_other = caller.payload(agent_id="crawler-7")
    assert caller.post(as_other).status_code == 403

    page = text_of(claim(alices, agent, " crawler-* "))
    assert "research-agent-01 can now deliver as crawler-*." in page
    assert caller.post(as_other).status_code == 201
    assert "Can also deliver as crawler-*." in text_of(alices.get(f"/agents/{agent.pk}/"))

    page = text_of(say(alices, agent, f"aliases/{ClaimedId.objects.get().pk}/remove"))
    assert "can no longer deliver as crawler-*." in page
    assert caller.post(as_other).status_code == 403
    named = AuditEvent.objects.filter(event__startswith="claim.").order_by("pk")
    assert [(each.event, each.object_name, each.actor_name) for each in named] == [
        ("claim.added", "crawler-*", "alice"),
        ("claim.removed", "crawler-*", "alice"),
    ]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("*", "at least one character before *"),
        ("a*b", "Use * only at the end."),
        ("research-agent-01", "An agent can always use its own ID"),
        ("", "Enter an ID."),
        ("two\nlines", "Control characters"),
        ("x" * 129, "at most 128 characters"),
    ],
)
def test_an_alias_that_matches_everything_or_nothing_is_refused(
    alices: Person, agent: Agent, pattern: str, words: str
) -> None:
    page = claim(alices, agent, pattern)

    assert page.status_code == 422
    assert words in text_of(page)
    assert not ClaimedId.objects.exists()


def test_the_same_alias_twice_is_stored_once(alices: Person, agent: Agent) -> None:
    for _ in range(2):
        claim(alices, agent, "crawler-*")

    assert ClaimedId.objects.count() == 1
    assert AuditEvent.objects.filter(event="claim.added").count() == 1


def test_the_number_of_aliases_is_limited(agent: Agent, alices: Person) -> None:
    ClaimedId.objects.bulk_create(
        ClaimedId(agent=agent, pattern=f"agent-{number}") for number in range(aliases.MAX_ALIASES)
    )

    assert claim(alices, agent, "one-more").status_code == 422
    assert ClaimedId.objects.count() == aliases.MAX_ALIASES


# The pause ----------------------------------------------------------------------------------------


def test_a_paused_agent_delivers_nothing_and_still_reads(
    alices: Person, agent: Agent, caller: AgentClient
) -> None:
    page = text_of(say(alices, agent, "pause"))

    assert "research-agent-01 is paused. It can still read your answers." in page
    assert caller.post(caller.payload()).status_code == 403
    assert caller.get("responses").status_code == 200
    page = text_of(say(alices, agent, "resume"))
    assert "research-agent-01 can deliver again." in page
    caller.deliver()


def test_the_button_sends_the_token_of_its_page(alices: Person, agent: Agent) -> None:
    browser = Client(sends_tokens=False)
    browser.cookies = alices.client.cookies
    here = f"/agents/{agent.pk}/"
    main = browser.get(here).content.decode().partition("<main")[2]
    [token] = re.findall(r'action="[^"]+/pause">\s*<input[^>]+value="(\w+)"', main)

    answer = browser.post(f"{here}pause", {"csrfmiddlewaretoken": token})

    assert answer.status_code == 303
    agent.refresh_from_db()
    assert agent.paused_at is not None


def test_an_agent_that_hit_its_limit_is_reported_as_a_loop(
    alices: Person, agent: Agent, key: ApiKey
) -> None:
    before = text_of(alices.get(f"/agents/{agent.pk}/"))

    quota.record_refusal(key, at=timezone.now())

    after = text_of(alices.get(f"/agents/{agent.pk}/"))
    assert "stuck in a loop" not in before
    assert "not reached today" in before
    assert "Needs attention Reached its rate limit at" in after
    assert "It may be stuck in a loop. Last seen" in after


def test_the_list_of_agents_marks_those_limited_today(
    alices: Person, agent: Agent, key: ApiKey
) -> None:
    words = "research-agent-01 reached its rate limit today. It may be stuck in a loop."
    quota.record_refusal(key, at=midnight(timezone.now()) - timedelta(minutes=11))
    before = text_of(alices.get("/agents/"))

    quota.record_refusal(key, at=timezone.now())

    assert words not in before
    assert words in text_of(alices.get("/agents/"))


def test_the_list_of_agents_says_whose_callbacks_fail(
    alices: Person, allowed_host: str, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery(callback_webhook="https://hooks.example.com/answers")
    callback = Callback.objects.get(response=answer(delivery))
    before = text_of(alices.get("/agents/"))

    callback.tries, callback.lease = 1, uuid4()
    callback.save(update_fields=["tries", "lease"])
    settle([(callback, HttpResult(status_code=500))], at=timezone.now())

    assert "No agent needs your attention." in before
    after = text_of(alices.get("/agents/"))
    assert "1 callback is failing for research-agent-01. It can still fetch the answers." in after


@pytest.mark.parametrize(
    ("before", "today", "is_said"),
    [(10, 50, True), (11, 50, False), (1, 49, False), (0, 50, False)],
)
def test_many_more_deliveries_than_ever_before_are_reported_as_a_loop(
    alices: Person,
    make_delivery: MakeDelivery,
    agent: Agent,
    before: int,
    today: int,
    *,
    is_said: bool,
) -> None:
    at = midnight(timezone.now())
    for count, when in ((before, at - timedelta(days=3)), (today, at)):
        for _ in range(count):
            make_delivery(at=when)

    page = text_of(alices.get(f"/agents/{agent.pk}/"))

    words = f"Delivered {today} times today, far more than on any day before."
    assert (words in page) == is_said


# Permissions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["bobs", "ritas"])
def test_only_owners_change_an_agents_settings(
    role: str, request: pytest.FixtureRequest, agent: Agent
) -> None:
    person: Person = request.getfixturevalue(role)
    granted = aliases.grant(agent, "crawler-*", by=SYSTEM)

    answers = [
        person.get(f"/agents/{agent.pk}/secret/"),
        rotate(person, agent),
        retire(person, agent),
        person.get(f"/agents/{agent.pk}/aliases/"),
        claim(person, agent, "other-*"),
        say(person, agent, f"aliases/{granted.pk}/remove"),
        say(person, agent, "pause"),
        say(person, agent, "resume"),
    ]

    assert [answer.status_code for answer in answers] == [403] * 8
    assert ClaimedId.objects.get() == granted
    agent.refresh_from_db()
    assert agent.paused_at is None
    assert "Can also deliver as crawler-*." in text_of(person.get(f"/agents/{agent.pk}/"))
