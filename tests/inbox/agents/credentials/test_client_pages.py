"""An agent's page lists the clients that people connected, and owners end them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from accounts.access import members
from accounts.agents import credential_version, keys
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent, OAuthGrant, Team, User
from accounts.oauth import grants
from database.clock import database_now
from tests.accounts.oauth.oauth_client import OAuthClient
from tests.accounts.oauth.test_sign_in import PeoplesClient
from tests.fixtures.clients import connected
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Delivery


def page_of(person: Person, agent: Agent) -> str:
    return text_of(person.get(f"/agents/{agent.pk}/"))


def end(person: Person, grant: OAuthGrant, **options: Any) -> Any:
    return person.client.post(f"/agents/{grant.key.agent_id}/clients/{grant.pk}/end/", **options)


def sleep(grant: OAuthGrant) -> None:
    """Lets the access token end, as that of a client that is closed."""
    ApiKey.objects.filter(pk=grant.pk).update(expires_at=database_now() - timedelta(hours=9))


def test_the_page_names_the_client_its_host_and_its_person(
    alices: Person, bob: User, agent: Agent
) -> None:
    now = database_now()
    grant = connected(agent, bob, name="Chat", ends_at=now + timedelta(days=30))
    ApiKey.objects.filter(pk=grant.pk).update(last_used_at=now)

    page = page_of(alices, agent)

    assert "1 connected" in page
    assert "Chat Connected goes back to client.example connected" in page
    assert re.search(r"connected [0-9:]{5} by bob last used [0-9:]{5} expires \d+ \w+ ", page)
    assert "No API keys yet." in page
    assert "None active" in page
    assert "so it can't deliver" not in page


def test_a_client_that_sleeps_is_not_expired(alices: Person, alice: User, agent: Agent) -> None:
    client = OAuthClient()
    client.tokens(alice, agent)
    sleep(OAuthGrant.objects.get())

    page = page_of(alices, agent)

    assert "Example Chat Connected" in page
    assert "Expired" not in page
    assert "expires" not in page.partition("Connected clients")[0]


def test_a_client_that_cannot_come_back_is_signed_out(
    alices: Person, alice: User, agent: Agent
) -> None:
    sleep(connected(agent, alice))

    page = page_of(alices, agent)

    assert "Example Chat Signed out" in page
    assert "No active API key or connected client, so it can't deliver." in page


def test_a_client_that_never_came_for_its_token_is_listed_until_its_code_ends(
    alices: Person, alice: User, agent: Agent
) -> None:
    client = OAuthClient()
    client.register()
    client.consent(alice, agent)

    assert "Example Chat Connecting" in page_of(alices, agent)
    sleep(OAuthGrant.objects.get())
    assert "Example Chat" not in page_of(alices, agent)


def test_the_list_of_agents_warns_of_the_grants_end_and_not_of_the_tokens(
    alices: Person, alice: User, agent: Agent
) -> None:
    grant = connected(agent, alice)
    assert "expires" not in text_of(alices.get("/agents/"))

    OAuthGrant.objects.filter(pk=grant.pk).update(ends_at=database_now() + timedelta(days=2))

    assert "must be connected again" in text_of(alices.get("/agents/"))
    assert "Example Chat must be connected again" in page_of(alices, agent)


def test_an_owner_ends_a_client(alices: Person, alice: User, agent: Agent) -> None:
    client = OAuthClient()
    tokens = client.tokens(alice, agent)
    grant = OAuthGrant.objects.get()
    asked = alices.get(f"/agents/{agent.pk}/clients/{grant.pk}/end/")
    assert f"End Example Chat as {agent}" in text_of(asked)
    assert OAuthGrant.objects.open(database_now()).exists()

    answer = end(alices, grant, follow=True)

    assert "Example Chat was ended. It can no longer deliver or read answers." in text_of(answer)
    assert "Example Chat Ended" in text_of(answer)
    assert f"/clients/{grant.pk}/end/" not in answer.content.decode()
    assert PeoplesClient(tokens["access_token"]).ask("tools/list").status_code == 401
    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    event = AuditEvent.objects.get(event="client.ended")
    assert (event.actor_name, event.detail["client"]) == ("alice", "Example Chat")
    assert not AuditEvent.objects.filter(event="key.revoked").exists()
    audit = text_of(alices.get("/audit/", agent=str(agent.pk)))
    assert f"alice ended Example Chat as {agent}" in audit


def test_only_owners_end_a_client(
    alices: Person, bobs: Person, mallory: User, alice: User, agent: Agent
) -> None:
    grant = connected(agent, alice)
    address = f"/agents/{agent.pk}/clients/{grant.pk}/end/"

    assert bobs.client.post(address, by_hand=True).status_code == 403
    assert Person(mallory).client.post(address, by_hand=True).status_code == 404
    assert "End Example Chat" not in bobs.get(f"/agents/{agent.pk}/").content.decode()
    assert OAuthGrant.objects.open(database_now()).exists()


def test_ending_a_client_needs_a_fresh_password(alices: Person, alice: User, agent: Agent) -> None:
    grant = connected(agent, alice)
    session = alices.client.session
    session["password_at"] = (database_now() - timedelta(minutes=16)).timestamp()
    session.save()

    assert end(alices, grant, by_hand=True)["Location"].startswith("/sudo/?next=")
    assert OAuthGrant.objects.open(database_now()).exists()


def test_a_client_of_another_agent_is_not_found(
    alices: Person, alice: User, agent: Agent, team: Team
) -> None:
    other = Agent.objects.create(team=team, agent_id="other")
    grant = connected(other, alice)

    assert alices.get(f"/agents/{agent.pk}/clients/{grant.pk}/end/").status_code == 404


@pytest.mark.parametrize("page", ["rotate", "revoke"])
def test_a_client_is_no_key_that_is_rotated_or_revoked(
    alices: Person, alice: User, agent: Agent, page: str
) -> None:
    grant = connected(agent, alice)

    assert alices.get(f"/agents/{agent.pk}/keys/{grant.pk}/{page}/").status_code == 404


def test_clients_do_not_use_up_the_keys_of_an_agent(agent: Agent, alice: User) -> None:
    version = credential_version.current(agent)
    for _ in range(keys.MAX_USABLE):
        connected(agent, alice)

    assert credential_version.current(agent) == version
    assert keys.mint(agent, by=SYSTEM)[0].agent == agent
    with pytest.raises(grants.TooManyGrants):
        connected(agent, alice)


def test_a_delivery_says_which_client_sent_it(
    alices: Person, alice: User, agent: Agent, make_delivery: MakeDelivery
) -> None:
    old = connected(agent, alice)
    grants.end(old, by=SYSTEM, at=database_now())
    new = connected(agent, alice)
    assert old.key.hint != new.key.hint

    page = text_of(alices.see(make_delivery(key=new.key)))

    assert "Delivered by the connected client Example Chat." in page
    assert "ended" not in page.partition("Delivered by")[2]
    assert "key revoked" not in text_of(alices.get("/"))
    assert Delivery.objects.get().key_hint == new.key.hint


def test_a_member_who_leaves_takes_their_clients_along(
    agent: Agent, alice: User, bob: User
) -> None:
    grant = connected(agent, bob)
    others = connected(agent, alice)

    members.leave(agent.team.memberships.get(user=bob), by=SYSTEM)

    assert list(OAuthGrant.objects.open(database_now())) == [others]
    event = AuditEvent.objects.get(event="client.ended")
    assert (event.object_id, event.detail["client"]) == (str(grant.pk), "Example Chat")


def test_the_limit_and_the_pause_hold_for_clients(
    alices: Person, alice: User, agent: Agent
) -> None:
    token = OAuthClient().tokens(alice, agent)["access_token"]
    alices.client.post(f"/agents/{agent.pk}/limit/", {"hourly_limit": "1"})
    client = PeoplesClient(token)
    update = {"type": "update", "headline": "Tanks are full", "summary": "All four."}

    client.structured("deliver", **update)
    assert "limit" in client.failure("deliver", **{**update, "headline": "Again"})
    assert "Reached its rate limit" in page_of(alices, agent)

    alices.client.post(f"/agents/{agent.pk}/pause")
    assert "paused" in client.failure("deliver", **{**update, "headline": "Once more"})
