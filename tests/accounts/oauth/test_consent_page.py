"""The consent page asks in one sentence, and shows where the person goes back to."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict

from accounts.agents import registration
from accounts.audit import SYSTEM
from accounts.models import Agent, Membership, OAuthGrant, Team, User
from accounts.oauth.agent_choice import AgentChoiceForm, NoLongerAllowed
from accounts.oauth.clients import EDITORS, Client
from database.clock import database_now
from tests.accounts.oauth.oauth_client import OAuthClient
from tests.inbox.person import Person, text_of


def consent_page(person: Person, client: OAuthClient) -> Any:
    client.register()
    return person.client.get(client.address())


def test_the_page_asks_in_one_sentence(alices: Person, team: Team) -> None:
    page = text_of(consent_page(alices, OAuthClient(name="Chat")))

    assert "Connect Chat?" in page
    assert "Chat wants to deliver work to Garden as the agent chat-alice." in page
    assert "You go back to client.example." in page
    assert "The client chose its name itself." in page


def test_an_agent_with_the_proposed_id_is_selected(alices: Person, team: Team) -> None:
    Agent.objects.create(team=team, agent_id="chat-alice")

    answer = consent_page(alices, OAuthClient(name="Chat"))

    assert "Chat wants to deliver work to Garden as the agent chat-alice." in text_of(answer)
    assert 'name="agent_id" value=' not in answer.content.decode()


def test_a_form_with_an_error_keeps_the_choice(alices: Person, alice: User, team: Team) -> None:
    orchard = Team.objects.create(slug="orchard", name="Orchard")
    Membership.objects.create(team=orchard, user=alice, role=Membership.Role.OWNER)
    client = OAuthClient(name="Chat")
    client.register()

    answer = client.decide(
        alices.user,
        {"agent": "new:orchard", "agent_id": "", "days": "", "decision": "connect"},
    )

    assert answer.status_code == 422
    assert "Enter an ID for the new agent." in text_of(answer)
    assert "wants to deliver work to Orchard as the agent" in text_of(answer)


def test_a_well_known_name_with_another_host_is_marked(alices: Person, team: Team) -> None:
    fake = text_of(consent_page(alices, OAuthClient("https://evil.example/x", name="ChatGPT")))
    real = text_of(consent_page(alices, OAuthClient("https://chatgpt.com/x", name="ChatGPT")))

    assert "It calls itself ChatGPT, but doesn't go back to chatgpt.com." in fake
    assert "You go back to evil.example." in fake
    assert "It calls itself" not in real


@pytest.mark.parametrize(
    ("name", "host", "imitated"),
    [
        *(("ChatGPT", "chatgpt.com", ""), ("ChatGPT", "platform.openai.com", "")),
        *(
            ("ChatGPT", "notchatgpt.com", "chatgpt.com"),
            ("ChatGPT", "chatgpt.com.evil", "chatgpt.com"),
        ),
        *(("CIaude", "evil.example", "claude.ai"), ("claude  AI", "evil.example", "claude.ai")),
        *(("Chat GPT", "evil.example", "chatgpt.com"), ("Claude Code", "this computer", "")),
        *(("Visual Studio Code", "vscode.dev", ""), ("VS Code", EDITORS["vscode"], "")),
        *(("Visual Studio Code", "evil.example", "vscode.dev"), ("Garden Bot", "evil.example", "")),
    ],
)
def test_a_client_imitates_another_by_its_name(name: str, host: str, imitated: str) -> None:
    assert Client(name=name, host=host, site="").imitates == imitated


def test_a_person_without_a_team_learns_why(db: None, alices: Person, alice: User) -> None:
    alice.memberships.all().delete()

    page = text_of(consent_page(alices, OAuthClient()))

    assert "You can't connect Example Chat" in page
    assert "You're not in a team yet." in page


def test_a_client_without_a_name_is_named_by_its_host_however_long(
    alices: Person, agent: Agent
) -> None:
    host = f"{'a' * 60}.{'b' * 60}.example"
    client = OAuthClient(f"https://{host}/callback", name="")
    client.register()

    client.consent(alices.user, agent)

    grant = OAuthGrant.objects.get()
    assert (grant.client_name, grant.client_host) == (host[:80], host)


def test_an_agent_that_was_archived_meanwhile_is_explained(
    alice: User, agent: Agent, team: Team
) -> None:
    form = AgentChoiceForm(
        QueryDict(f"agent={agent.pk}&days=30"), teams=[team], proposal="chat-alice"
    )
    assert form.is_valid()
    registration.archive(agent, by=SYSTEM, at=database_now())

    with pytest.raises(NoLongerAllowed, match=r"This agent was archived\. Nothing"):
        form.stored_agent(person=alice, host=None, by=SYSTEM)
