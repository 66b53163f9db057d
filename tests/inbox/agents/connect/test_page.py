"""All members can open the connect page of an agent. The page shows no key, and waits for the first
delivery."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext

from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, Membership, Team, User
from relay.cards.publishing import publish
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery


def see(person: Person, agent: Agent, rest: str = "") -> Any:
    return person.get(f"/agents/{agent.pk}/connect/{rest}")


@pytest.mark.parametrize("role", Membership.Role.values)
def test_every_role_in_the_team_may_read_it(team: Team, agent: Agent, role: str) -> None:
    user = User.objects.create_user("member@example.com", "x")
    Membership.objects.create(team=team, user=user, role=role)

    page = text_of(see(Person(user), agent))

    assert "Connect research-agent-01" in page


def test_both_forms_of_the_endpoint_are_explained(
    alices: Person, agent: Agent, settings: Any
) -> None:
    settings.WAKE_ORIGIN = "https://wake.example.org"

    page = text_of(see(alices, agent))

    assert "With /wake/v1 https://wake.example.org/wake/v1 Copy" in page
    assert "Without, for clients that add it https://wake.example.org Copy" in page


def test_it_never_shows_a_key_and_links_to_where_one_is_issued(
    alices: Person, agent: Agent, key: ApiKey
) -> None:
    page = see(alices, agent).content.decode()

    assert key.text not in page  # type: ignore[attr-defined]
    assert key.hint not in page
    assert key.digest not in page
    assert page.count("WAKE_API_KEY") >= 8
    assert f'href="/agents/{agent.pk}/#keys-title"' in page
    assert 'id="keys-title"' in alices.get(f"/agents/{agent.pk}/").content.decode()
    assert "To try things out, use a test key (wk_test_)" in text_of(see(alices, agent))


def test_the_limit_of_a_test_key_is_at_most_its_agents(alices: Person, agent: Agent) -> None:
    agent.hourly_limit = 3
    agent.save(update_fields=["hourly_limit"])

    assert "Rate limit: 3 per hour, bursts of 3." in text_of(see(alices, agent))


def test_every_prompt_and_program_can_be_copied_or_selected(alices: Person, agent: Agent) -> None:
    publish(agent, by=SYSTEM, at=agent.created_at)
    answer = see(alices, agent)
    page = answer.content.decode()
    snippets = dict(re.findall(r'<pre [^>]*id="code-([\w-]+)"[^>]*>(.*?)</pre>', page, re.DOTALL))

    assert {name: html.unescape(text) for name, text in snippets.items()} == {
        **{snippet.name: snippet.text for snippet in answer.context["snippets"]},
        "wake-connect": answer.context["panels"][0].context["command"],
    }
    copied = re.findall(r'data-copy="#([\w-]+)"', page)
    assert len(copied) == len(snippets) + 2
    assert all(page.count(f' id="{target}"') == 1 for target in copied)


def test_it_waits_for_the_first_delivery_and_then_links_to_it(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    waiting, nothing = see(alices, agent), see(alices, agent, "pulse")

    delivery = make_delivery()
    came, arrived = see(alices, agent, "pulse"), see(alices, agent)

    assert "Waiting for the first delivery… Check again" in text_of(waiting)
    assert f'data-updates="/agents/{agent.pk}/connect/pulse"' in waiting.content.decode()
    assert (nothing.status_code, nothing.content) == (204, b"")
    assert "<html" not in came.content.decode()
    for answer in (came, arrived):
        assert "delivery arrived" in text_of(answer)
        assert f'href="/deliveries/{delivery.pk}/"' in answer.content.decode()
    assert "Check again" not in text_of(arrived)


def test_a_test_delivery_counts_and_is_marked_as_one(
    alices: Person, agent: Agent, in_test_mode: AgentClient
) -> None:
    in_test_mode.deliver()

    assert "A test delivery arrived" in text_of(see(alices, agent, "pulse"))


def test_a_delivery_of_another_agent_does_not_count(
    alices: Person, agent: Agent, others: AgentClient
) -> None:
    others.deliver()

    assert see(alices, agent, "pulse").status_code == 204


def test_it_links_to_the_first_of_several_deliveries(
    alices: Person, agent: Agent, make_delivery: MakeDelivery, in_test_mode: AgentClient
) -> None:
    first = make_delivery()
    make_delivery()
    in_test_mode.deliver()

    assert f'href="/deliveries/{first.pk}/"' in see(alices, agent, "pulse").content.decode()


def test_the_agents_page_and_the_welcome_page_link_to_it(
    alices: Person, agent: Agent, key: ApiKey
) -> None:
    way = f'href="/agents/{agent.pk}/connect/"'

    assert way in alices.get(f"/agents/{agent.pk}/").content.decode()
    assert way in alices.get("/welcome/").content.decode()


def test_it_takes_few_queries(
    alices: Person,
    agent: Agent,
    make_delivery: MakeDelivery,
    django_assert_max_num_queries: Callable[..., CaptureQueriesContext],
) -> None:
    publish(agent, by=SYSTEM, at=agent.created_at)
    make_delivery()

    with django_assert_max_num_queries(9):
        see(alices, agent)
    with django_assert_max_num_queries(5):
        see(alices, agent, "pulse")
