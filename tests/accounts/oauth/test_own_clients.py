"""A person sees the clients that they connected under Security, and ends them."""

from __future__ import annotations

from datetime import timedelta

from accounts.audit import SYSTEM
from accounts.models import Agent, AuditEvent, OAuthGrant, User
from accounts.oauth import grants
from database.clock import database_now
from tests.fixtures.clients import connected
from tests.inbox.person import Person, text_of


def test_a_person_ends_a_client_of_a_team_that_they_do_not_own(
    bobs: Person, bob: User, alice: User, agent: Agent
) -> None:
    mine = connected(agent, bob, name="Bob Chat")
    connected(agent, alice, name="Alice Chat")

    page = text_of(bobs.get("/settings/security/"))
    assert f"Bob Chat Connected Delivers to Garden as {agent} goes back to client.example" in page
    assert "Alice Chat" not in page
    asked = bobs.get(f"/settings/security/clients/{mine.pk}/end/")
    assert f"End Bob Chat as {agent}" in text_of(asked)
    answer = bobs.client.post(f"/settings/security/clients/{mine.pk}/end/", follow=True)

    assert "Bob Chat was ended." in text_of(answer)
    assert "You haven't connected a client." in text_of(answer)
    assert AuditEvent.objects.get(event="client.ended").actor_name == "bob"


def test_a_client_of_someone_else_is_not_found(alices: Person, bob: User, agent: Agent) -> None:
    grant = connected(agent, bob)
    address = f"/settings/security/clients/{grant.pk}/end/"

    assert alices.get(address).status_code == 404
    assert alices.client.post(address, by_hand=True).status_code == 404
    assert OAuthGrant.objects.open(database_now()).exists()


def test_ending_needs_a_fresh_password(bobs: Person, bob: User, agent: Agent) -> None:
    grant = connected(agent, bob)
    session = bobs.client.session
    session["password_at"] = 0.0
    session.save()

    answer = bobs.client.post(f"/settings/security/clients/{grant.pk}/end/", by_hand=True)

    assert answer["Location"].startswith("/sudo/?next=")
    assert OAuthGrant.objects.open(database_now()).exists()


def test_ended_and_expired_clients_are_left_out(bobs: Person, bob: User, agent: Agent) -> None:
    now = database_now()
    grants.end(connected(agent, bob), by=SYSTEM, at=now)
    connected(agent, bob, at=now - timedelta(days=31), ends_at=now - timedelta(days=1))

    assert "You haven't connected a client." in text_of(bobs.get("/settings/security/"))


def test_the_download_of_a_persons_data_lists_their_clients(
    bobs: Person, bob: User, agent: Agent
) -> None:
    connected(agent, bob, name="Bob Chat")

    answer = bobs.client.post("/settings/data/download", by_hand=True)

    assert '"client_name": "Bob Chat"' in answer.getvalue().decode()
