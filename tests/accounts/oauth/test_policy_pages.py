"""Owners set who may connect clients to their team, and which clients."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Agent, AuditEvent, ClientPolicy, Membership, OAuthGrant, Team, User
from accounts.oauth.clients import THIS_COMPUTER
from accounts.oauth.policies import may_connect
from tests.accounts.oauth.oauth_client import OAuthClient
from tests.inbox.person import Person, text_of

PAGE = "/settings/clients/garden/"


def change(person: Person, who: str = "owners", hosts: str = "", **options: Any) -> Any:
    return person.client.post(PAGE, {"who": who, "hosts": hosts}, **options)


def test_an_owner_allows_two_hosts(alices: Person, team: Team) -> None:
    assert "Owners may connect any client." in text_of(alices.get("/settings/clients/"))

    page = text_of(
        change(alices, "reviewers", " ChatGPT.com\n\nclaude.ai\r\nclaude.ai\n", follow=True)
    )

    assert "Owners and reviewers may connect clients that go back to one of these hosts:" in page
    assert "chatgpt.com claude.ai" in page
    assert team.client_policy.hosts == "chatgpt.com\nclaude.ai"
    event = AuditEvent.objects.get(event="clients.changed")
    assert event.detail == {"who": "reviewers", "hosts": ["chatgpt.com", "claude.ai"]}
    audit = alices.get("/audit/")
    assert "alice changed which clients may connect" in text_of(audit)
    assert 'href="/settings/clients/"' in audit.content.decode()


def test_the_same_policy_is_recorded_once(alices: Person, team: Team) -> None:
    change(alices)
    change(alices, hosts="claude.ai")
    change(alices, hosts="claude.ai")

    assert AuditEvent.objects.filter(event="clients.changed").count() == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("https://chatgpt.com/x", "leave out the scheme and the path"),
        ("chatgpt.com/x", "leave out the path"),
        ("chatgpt.com?x=1", "leave out the path"),
        ("chatgpt.com:443", "leave out the port"),
        ("*.chatgpt.com", "enter each host, because * isn't allowed"),
        ("chatgpt.com, claude.ai", "enter one host on each line"),
        ("alice@chatgpt.com", "enter one host on each line"),
        ("chatgpt", "enter a host name"),
        ("-chatgpt.com", "enter a host name"),
        ("chat_gpt.com", "enter a host name"),
        (f"{'x' * 64}.com", "enter a host name"),
        ("chatgpt..com", "enter a host name"),
    ],
)
def test_a_line_that_is_no_host_is_refused_with_its_problem(
    alices: Person, team: Team, line: str, problem: str
) -> None:
    answer = change(alices, hosts=f"claude.ai\n{line}")

    assert answer.status_code == 422
    assert f"“{line[:60]}”: {problem}" in text_of(answer)
    assert not ClientPolicy.objects.exists()


def test_too_many_hosts_are_refused(alices: Person, team: Team) -> None:
    lines = "\n".join(f"h{number}.example" for number in range(51))

    assert "Enter at most 50 hosts." in text_of(change(alices, hosts=lines))


def test_a_name_in_another_script_is_stored_as_browsers_send_it(alices: Person, team: Team) -> None:
    change(alices, hosts="b\u00fccher.example")

    assert team.client_policy.hosts == "xn--bcher-kva.example"


def test_localhost_allows_programs_on_peoples_computers(
    alices: Person, alice: User, team: Team
) -> None:
    change(alices, hosts="localhost\n127.0.0.1")

    assert team.client_policy.hosts == "localhost"
    assert may_connect(alice, team, host=THIS_COMPUTER)
    assert may_connect(alice, team, host="VS Code")
    assert not may_connect(alice, team, host="claude.ai")


def test_only_owners_change_the_policy(bobs: Person, mallory: User, team: Team) -> None:
    assert change(bobs, by_hand=True).status_code == 403
    assert change(Person(mallory), by_hand=True).status_code == 404
    assert "Only team owners can see and change" in text_of(bobs.get("/settings/clients/"))


def test_the_policy_needs_a_fresh_password(alices: Person, team: Team) -> None:
    session = alices.client.session
    session["password_at"] = 0.0
    session.save()

    for answer in (alices.get(PAGE), change(alices, by_hand=True)):
        assert answer["Location"].startswith("/sudo/?next=")


def test_a_client_that_is_no_longer_allowed_ends_at_its_next_refresh(
    alices: Person, alice: User, agent: Agent
) -> None:
    client = OAuthClient()
    tokens = client.tokens(alice, agent)
    assert "ends at its next refresh" in text_of(alices.get(PAGE))

    change(alices, hosts="claude.ai")

    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert OAuthGrant.objects.get().key.revoked_at is not None
    event = AuditEvent.objects.get(event="client.ended")
    assert (event.actor_kind, event.detail["client"]) == ("system", "Example Chat")
    change(alices)
    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(("who", "may"), [("owners", False), ("reviewers", True)])
def test_reviewers_connect_clients_where_owners_let_them(
    alices: Person, bob: User, agent: Agent, who: str, may: bool
) -> None:
    assert agent.team.memberships.get(user=bob).role == Membership.Role.REVIEWER
    change(alices, who)
    client = OAuthClient()
    client.register()

    page = text_of(Person(bob).client.get(client.address()))

    assert ("wants to deliver work to Garden" in page) == may


def test_no_one_connects_where_no_one_may(alices: Person, agent: Agent) -> None:
    change(alices, "no_one")
    client = OAuthClient()
    client.register()

    page = text_of(alices.client.get(client.address()))

    assert "No one may connect clients to Garden." in page


def test_the_page_says_what_is_allowed_when_it_refuses(
    alices: Person, bobs: Person, agent: Agent
) -> None:
    change(alices, hosts="chatgpt.com\nclaude.ai")
    client = OAuthClient()
    client.register()

    page = text_of(alices.client.get(client.address()))

    assert "client.example" in page
    assert "Garden allows only clients that go back to chatgpt.com or claude.ai." in page
    assert "Only owners may connect clients to Garden." in text_of(
        bobs.client.get(client.address())
    )
