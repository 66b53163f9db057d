"""A deactivated person can do nothing any more, and comes back with their roles alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from accounts.access import invitations
from accounts.audit import Actor
from accounts.models import (
    Agent,
    ApiKey,
    AuditEvent,
    Invitation,
    Membership,
    OAuthGrant,
    Team,
    User,
)
from accounts.people import deactivation
from database.clock import database_now
from inbox.models import Channel
from tests.fixtures.clients import connected
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

pytestmark = pytest.mark.django_db
DIRECTORY = Actor("provider", name="Example")


def deactivate(user: User) -> list[Team]:
    return deactivation.deactivate(user, by=DIRECTORY, at=database_now())


def reactivate(user: User) -> bool:
    return deactivation.reactivate(user, by=DIRECTORY, at=database_now())


def events() -> list[tuple[str, str, int | None, dict[str, Any]]]:
    rows = AuditEvent.objects.filter(event__contains="activated").order_by("pk")
    return [(row.event, row.object_name, row.team_id, row.detail) for row in rows]


def test_the_next_click_asks_to_sign_in_and_the_session_never_comes_back(
    alice: User, bobs: Person
) -> None:
    assert bobs.get("/").status_code == 200

    deactivate(bobs.user)
    refused = bobs.get("/")
    reactivate(bobs.user)

    assert (refused.status_code, refused["Location"]) == (302, "/login/?next=/")
    assert bobs.get("/").status_code == 302
    client = Client()
    assert client.login(username="bob@example.com", password="correct horse battery")
    assert client.get("/").status_code == 200


def test_it_is_in_the_audit_of_the_team(bob: User, alice: User, team: Team) -> None:
    deactivate(bob)
    deactivate(bob)
    reactivate(bob)
    reactivate(bob)

    assert events() == [
        ("person.deactivated", "bob", None, {}),
        ("membership.deactivated", "bob in Garden (reviewer)", team.pk, {"person": bob.pk}),
        ("person.reactivated", "bob", None, {}),
        ("membership.reactivated", "bob in Garden (reviewer)", team.pk, {"person": bob.pk}),
    ]
    page = text_of(Person(alice).get("/audit/"))
    assert "Example deactivated a member, who can no longer sign in" in page
    assert "Example reactivated a member, who can sign in again" in page


def test_the_role_stays(bob: User, team: Team) -> None:
    deactivate(bob)
    assert not team.memberships.that_answer().filter(user=bob).exists()

    reactivate(bob)

    assert team.memberships.that_answer().get(user=bob).role == "reviewer"


def test_invitations_do_not_come_back(alice: User, team: Team) -> None:
    invitation, _ = invitations.invite(team, role="reader", by=alice, at=database_now())
    deactivate(alice)
    reactivate(alice)

    assert Invitation.objects.get(pk=invitation.pk).revoked_at
    assert not Invitation.objects.open(database_now()).exists()


def test_connected_clients_end_permanently(bob: User, agent: Agent) -> None:
    grant = connected(agent, bob)
    deactivate(bob)
    reactivate(bob)

    assert not OAuthGrant.objects.open(database_now()).exists()
    event = AuditEvent.objects.get(event="client.ended")
    assert (event.actor_name, event.object_id) == ("Example", str(grant.pk))


def test_web_push_stops_in_the_same_transaction(bob: User) -> None:
    channel = Channel.objects.create(
        user=bob,
        kind="ntfy",
        name="Phone",
        address="https://ntfy.example/bob",
        created_at=database_now(),
        verified_at=database_now(),
    )

    deactivate(bob)

    channel.refresh_from_db()
    assert channel.suspended_at is not None
    assert channel.error == "Your account was deactivated."


def test_the_last_owner_is_deactivated_and_the_page_says_what_to_do(
    alice: User, bobs: Person, team: Team
) -> None:
    assert deactivate(alice) == [team]

    page = text_of(bobs.get(reverse("settings-members")))
    assert "No owner of this team can sign in. Ask an administrator of this server" in page
    assert "deactivated" in page
    assert events()[0][3] == {"teams_without_owner": ["garden"]}


def test_a_team_with_another_owner_keeps_one(alice: User, bob: User, team: Team) -> None:
    Membership.objects.filter(user=bob).update(role="owner")

    assert deactivate(alice) == []


def test_an_agents_own_key_still_works(alice: User, key: ApiKey) -> None:
    deactivate(alice)

    key.refresh_from_db()
    assert key.revoked_at is None
    assert key.is_usable(database_now() + timedelta(days=1))


def test_the_operator_deactivates_by_the_same_verb(alice: User, bobs: Person, team: Team) -> None:
    olga = User.objects.create_superuser("olga@example.com", "correct horse battery")
    operator = Client()
    operator.force_login(olga)
    form = {
        "email": alice.email,
        "display_name": alice.display_name,
        "time_zone": "UTC",
        "memberships-TOTAL_FORMS": "0",
        "memberships-INITIAL_FORMS": "0",
    }
    change = reverse("admin:accounts_user_change", args=[alice.pk])

    answer = operator.post(change, form, follow=True, by_hand=True)
    operator.post(change, form | {"is_active": "on"}, by_hand=True)

    assert "No owner of “Garden” can sign in any more." in answer.content.decode()
    names = [event for event, *_ in events()]
    assert names == [
        "person.deactivated",
        "membership.deactivated",
        "person.reactivated",
        "membership.reactivated",
    ]
    assert not AuditEvent.objects.filter(event="person.changed").exists()
