"""People connect an account of a provider, join a team with the account, and confirm their identity
with it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Identity, Invitation, Team, User
from accounts.sign_in.browsers import session_names
from tests.accounts.sign_in.oidc.mock_provider import MockProvider
from tests.accounts.sign_in.oidc.visitor import (
    CONNECT,
    DISCONNECT,
    SECURITY,
    age,
    at_provider,
    events,
    invite,
    is_signed_in,
    leave,
    visit,
)
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

pytestmark = pytest.mark.django_db


def test_a_signed_in_person_connects_and_disconnects(
    provider: MockProvider, alices: Person, alice: User
) -> None:
    assert "Not connected" in text_of(alices.get(SECURITY))

    answer = visit(alices.client, CONNECT)
    assert answer["Location"] == SECURITY
    assert "nora@corp.example" in text_of(alices.get(SECURITY))
    other = Client()
    assert visit(other).status_code == 303
    assert str(alice.pk) == other.session["_auth_user_id"]

    alices.client.post(DISCONNECT)
    assert is_signed_in(alices.client)
    assert not is_signed_in(other)
    assert visit(Client()).status_code == 303, "Nora gets an account of her own."
    assert events("identity") == [
        "identity.connected",
        "identity.disconnected",
        "identity.connected",
    ]


def test_the_password_is_asked_for_first(provider: MockProvider, alices: Person) -> None:
    age(alices.client, session_names.PASSWORD, minutes=16)

    for path in (CONNECT, DISCONNECT):
        answer = alices.client.post(path)
        assert answer["Location"].startswith("/sudo/?next=")
    assert not provider.requests


def test_a_stranger_cannot_have_his_account_connected(
    provider: MockProvider, alices: Person, mallory: User
) -> None:
    """The stranger began in his own browser, and Alice opens his link."""
    mallorys = Person(mallory)
    back = at_provider(leave(mallorys.client, CONNECT))

    assert alices.get(back).status_code == 400
    assert not Identity.objects.exists()


def test_another_person_in_the_same_browser_gets_nothing(
    provider: MockProvider, alices: Person, bob: User
) -> None:
    back = at_provider(leave(alices.client, CONNECT))
    session = alices.client.session
    kept = session["oidc_attempts"]
    alices.client.force_login(bob)
    session = alices.client.session
    session["oidc_attempts"] = kept
    session.save()

    answer = alices.get(back)

    assert (answer.status_code, Identity.objects.count()) == (403, 0)
    assert "You're no longer signed in" in text_of(answer)


def test_one_account_belongs_to_one_person(
    provider: MockProvider, alices: Person, bobs: Person
) -> None:
    visit(alices.client, CONNECT)

    taken = visit(bobs.client, CONNECT)
    again = visit(alices.client, CONNECT)
    provider.accounts["n-2"] = {"email": "two@corp.example"}
    provider.subject = "n-2"
    second = visit(alices.client, CONNECT)

    assert "connected to someone else" in text_of(taken)
    assert again.status_code == 303
    assert "You're connected already" in text_of(second)
    assert Identity.objects.count() == 1


def test_the_only_way_in_stays(provider: MockProvider, client: Client) -> None:
    provider.asked_at = None
    visit(client)

    answer = client.post(DISCONNECT)

    assert "You'd have no way to sign in" in text_of(answer)
    assert "Disconnect" not in text_of(client.get(SECURITY))
    assert Identity.objects.exists()


def test_a_new_person_accepts_by_signing_in(
    provider: MockProvider, alice: User, team: Team, client: Client
) -> None:
    provider.accounts["n-1"]["email"] = "nora@elsewhere.example"
    text = invite(team, alice)
    assert "Join with Example" in text_of(client.get(f"/join/{text}/"))

    answer = visit(client, invitation=text)

    assert answer["Location"] == "/"
    assert "You joined Garden." in text_of(client.get("/"))
    nora = User.objects.get(email="nora@elsewhere.example")
    assert nora.memberships.get().role == "reviewer"
    assert Invitation.objects.get().accepted_by == nora


def test_a_known_person_signs_in_and_then_accepts(
    provider: MockProvider, alice: User, team: Team, client: Client
) -> None:
    visit(client)
    client.post("/logout/")
    text = invite(team, alice)

    answer = visit(client, invitation=text)

    assert answer["Location"] == f"/join/{text}/"
    client.post(answer["Location"])
    assert team.memberships.filter(user__email="nora@corp.example").exists()


def test_an_unverified_address_joins_by_the_one_that_was_invited(
    provider: MockProvider, alice: User, team: Team, client: Client
) -> None:
    provider.accounts["n-1"]["email_verified"] = False

    refused = visit(client, invitation=invite(team, alice))
    answer = visit(client, invitation=invite(team, alice, "nora@home.example"))

    assert refused.status_code == 403
    assert answer.status_code == 303
    assert team.memberships.filter(user__email="nora@home.example").exists()


def test_the_address_of_another_account_is_not_taken_over(
    provider: MockProvider, alice: User, mallory: User, team: Team, client: Client
) -> None:
    provider.accounts["n-1"] = {"email": mallory.email, "email_verified": True}

    answer = visit(client, invitation=invite(team, alice))

    assert "Your e-mail address has an account" in text_of(answer)
    assert Invitation.objects.get().accepted_at is None
    assert not is_signed_in(client)


def test_an_invited_address_alone_connects_no_account(
    provider: MockProvider, alice: User, team: Team, client: Client
) -> None:
    """The holder of the link need not be the owner of the account."""
    User.objects.create_user("nora@home.example")
    provider.accounts["n-1"]["email_verified"] = False

    answer = visit(client, invitation=invite(team, alice, "nora@home.example"))

    assert answer.status_code == 403
    assert not Identity.objects.exists()


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_an_ended_invitation_adds_no_one(
    when: str, provider: MockProvider, alice: User, team: Team, client: Client
) -> None:
    text = invite(team, alice)
    if when == "before":
        Invitation.objects.update(revoked_at=timezone.now())
    back = at_provider(leave(client, invitation=text))
    Invitation.objects.update(revoked_at=timezone.now())

    answer = client.get(back, follow=True)

    assert answer.status_code == 410
    assert not User.objects.filter(email="nora@corp.example").exists()


def test_a_made_up_invitation_is_the_page_of_an_ended_one(
    provider: MockProvider, client: Client
) -> None:
    answer = client.get(at_provider(leave(client, invitation="wk_join_x")), follow=True)

    assert answer.status_code == 410


def test_a_person_without_a_password_signs_in_there_again(
    provider: MockProvider, client: Client
) -> None:
    provider.asked_at = time.time() - 3600
    visit(client)
    asked = client.post("/settings/security/everywhere")
    assert asked["Location"].startswith("/sudo/?next=")
    page = text_of(client.get(asked["Location"]))
    assert "Confirm with Example" in page
    assert "Password" not in page

    provider.asked_at = None
    answer = visit(client, "/sudo/provider", next="/settings/security/codes/")

    assert provider.last_authorization["prompt"] == "login"
    assert provider.last_authorization["max_age"] == "0"
    assert answer["Location"] == "/settings/security/codes/"
    assert client.get("/settings/security/codes/").status_code == 200


@pytest.mark.parametrize("says", [True, False])
def test_a_provider_that_did_not_ask_confirms_nothing(
    says: bool, provider: MockProvider, client: Client
) -> None:
    provider.asked_at = time.time() - 3600
    visit(client)
    provider.says_auth_time = says

    answer = visit(client, "/sudo/provider")

    assert "Example didn't ask you again" in text_of(answer)
    assert client.get("/settings/security/codes/").status_code == 303


def test_where_the_provider_cannot_ask_a_new_sign_in_counts(
    provider: MockProvider, client: Client, settings: Any
) -> None:
    settings.WAKE_OIDC_ASKS_AGAIN = False
    provider.says_auth_time = False
    visit(client)
    age(client, session_names.PASSWORD, minutes=16)

    visit(client, "/sudo/provider")

    assert "prompt" not in provider.last_authorization
    assert client.get("/settings/security/codes/").status_code == 200


def test_another_account_confirms_nothing(provider: MockProvider, client: Client) -> None:
    provider.asked_at = 1
    visit(client)
    provider.accounts["n-2"] = {"email": "two@corp.example", "email_verified": True}
    provider.subject, provider.asked_at = "n-2", None

    answer = visit(client, "/sudo/provider")

    assert "That's another account" in text_of(answer)
    assert client.get("/settings/security/codes/").status_code == 303


def test_a_sign_in_that_asked_just_now_is_fresh(provider: MockProvider, client: Client) -> None:
    visit(client)

    assert client.get("/settings/security/codes/").status_code == 200


def test_there_is_no_password_to_try(provider: MockProvider, client: Client) -> None:
    visit(client)

    assert client.post("/sudo/", {"password": ""}).status_code == 403
    assert client.post("/settings/password/", {"old_password": ""}).status_code == 403
    assert "Change password" not in text_of(client.get("/settings/profile/"))
