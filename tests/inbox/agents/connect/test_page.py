"""All members can open the connect page of an agent. The page shows one client at a time and no
key. It waits for the first request and the first delivery."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext

from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, Membership, Team, User
from inbox.agents.connect.snippets import KINDS, Snippet
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
    assert page.count("WAKE_API_KEY") >= 3
    assert f'href="/agents/{agent.pk}/#keys-title"' in page
    assert 'id="keys-title"' in alices.get(f"/agents/{agent.pk}/").content.decode()
    assert "To try things out, use a test key (wk_test_)" in text_of(see(alices, agent))


def test_the_limit_of_a_test_key_is_at_most_its_agents(alices: Person, agent: Agent) -> None:
    agent.hourly_limit = 3
    agent.save(update_fields=["hourly_limit"])

    assert "Rate limit: 3 per hour, bursts of 3." in text_of(see(alices, agent))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_client_has_a_tab_with_its_snippet(
    alices: Person, agent: Agent, kind: Snippet
) -> None:
    answer = see(alices, agent, f"?with={kind.name}")
    page = answer.content.decode()

    [(name, shown)] = re.findall(r'<pre [^>]*id="code-([\w-]+)"[^>]*>(.*?)</pre>', page, re.DOTALL)
    text = {each.name: each.text for each in answer.context["snippets"]}[kind.name]
    assert (name, html.unescape(shown)) == (kind.name, text)
    current = re.findall(r'<a class="tabs__tab" href="\?with=[\w-]+#client" (.*?)</a>', page)
    assert [html.unescape(each) for each in current] == [
        f'aria-current="true">{kind.group}',
        f'aria-current="page">{kind.title}',
    ]
    assert f"<code>{kind.guide}</code>" in page


@pytest.mark.parametrize(("name", "title"), [("mcp-claude", "Claude"), ("mcp-chatgpt", "ChatGPT")])
def test_a_client_that_signs_in_gets_an_address_and_needs_no_key(
    alices: Person, agent: Agent, settings: Any, name: str, title: str
) -> None:
    settings.WAKE_ORIGIN = "https://wake.example.org"

    answer = see(alices, agent, f"?with={name}")
    page = text_of(answer)

    assert f"Address for {title}" in answer.content.decode()
    assert "https://wake.example.org/mcp/people" in page
    assert f"You need no API key {title} opens a page of Wake" in page
    assert 'ign in to Wake, and choose the agent "research-agent-01".' in page
    assert "WAKE_API_KEY" not in page
    assert f"/agents/{agent.pk}/keys/" not in answer.content.decode()


def test_a_client_that_takes_a_key_may_also_sign_in(
    alices: Person, agent: Agent, settings: Any
) -> None:
    settings.WAKE_ORIGIN = "https://wake.example.org"
    instead = (
        "To sign in instead, leave out the key and use the address "
        "https://wake.example.org/mcp/people."
    )

    offered = {
        kind.name for kind in KINDS if instead in text_of(see(alices, agent, f"?with={kind.name}"))
    }

    assert offered == {"mcp-claude-code", "mcp-codex", "mcp-cursor", "mcp-gemini", "mcp-vscode"}


def test_each_line_of_a_hint_is_a_paragraph(alices: Person, agent: Agent) -> None:
    page = see(alices, agent, "?with=mcp-chatgpt").content.decode()

    lines = re.findall(r'<p class="concern__text">(.*?)</p>', page)
    assert [html.unescape(line) for line in lines[:3]] == [
        "On the web, open Plugins. Add a custom MCP server with this address, and create it as a "
        "plugin.",
        'Sign in to Wake, and choose the agent "research-agent-01".',
        "OpenAI's servers call this address, so it must be public and use https.",
    ]


def test_every_client_is_two_links_away(alices: Person, agent: Agent) -> None:
    links = r'href="(\?with=[\w-]+)#client"'
    first = re.findall(links, see(alices, agent).content.decode())

    linked = {
        link
        for tab in first
        for link in re.findall(links, see(alices, agent, tab).content.decode())
    }

    assert linked == {f"?with={kind.name}" for kind in KINDS}


def test_an_unknown_client_is_the_first_one(alices: Person, agent: Agent) -> None:
    assert see(alices, agent, "?with=<b>").context["chosen"].name == KINDS[0].name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_guide_of_a_client_exists(
    alices: Person, agent: Agent, kind: Snippet, settings: Any, tmp_path: Path
) -> None:
    settings.WAKE_DOCUMENTATION = tmp_path

    page = see(alices, agent, f"?with={kind.name}").content.decode()

    assert (settings.BASE_DIR / kind.guide).is_file()
    assert f'href="{kind.guide_address}"' in page
    assert kind.guide_address.startswith("/docs/")
    assert "." not in kind.guide_address


def test_every_text_to_copy_has_one_place(alices: Person, agent: Agent) -> None:
    publish(agent, by=SYSTEM, at=agent.created_at)
    page = see(alices, agent).content.decode()

    copied = re.findall(r'data-copy="#([\w-]+)"', page)
    assert copied == [
        "code-mcp-claude-code",
        "code-wake-connect",
        "endpoint-path",
        "endpoint-origin",
    ]
    assert all(page.count(f' id="{target}"') == 1 for target in copied)


def test_it_waits_for_the_first_request_and_the_first_delivery(
    alices: Person, agent: Agent, caller: AgentClient
) -> None:
    waiting, nothing = see(alices, agent), see(alices, agent, "pulse")

    caller.sweep()
    connected = [see(alices, agent, "pulse"), see(alices, agent, "?with=curl")]
    delivery = caller.deliver()
    arrived = [see(alices, agent, "pulse"), see(alices, agent)]

    assert "Waiting for the first request… Check again" in text_of(waiting)
    assert f'data-updates="/agents/{agent.pk}/connect/pulse"' in waiting.content.decode()
    assert (nothing.status_code, nothing.content) == (204, b"")
    for answer in connected:
        assert "Connected. A request arrived" in text_of(answer)
        assert "Waiting for the first delivery…" in text_of(answer)
    assert 'href="?with=curl">Check again' in connected[1].content.decode()
    for answer in arrived:
        assert "Connected. A request arrived" in text_of(answer)
        assert "delivery arrived" in text_of(answer)
        assert f'href="/deliveries/{delivery}/"' in answer.content.decode()
        assert "Waiting" not in text_of(answer)
    for answer in (connected[0], arrived[0]):
        assert "<html" not in answer.content.decode()
        assert "Check again" not in text_of(answer)


def test_a_request_of_another_agent_does_not_count(
    alices: Person, agent: Agent, others: AgentClient
) -> None:
    others.sweep()

    assert see(alices, agent, "pulse").status_code == 204


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

    with django_assert_max_num_queries(10):
        see(alices, agent)
    with django_assert_max_num_queries(6):
        see(alices, agent, "pulse")
