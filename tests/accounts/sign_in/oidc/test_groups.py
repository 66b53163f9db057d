"""Groups at the provider give teams and roles, at each sign-in."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent, Membership, Team, User
from tests.accounts.sign_in.oidc.mock_provider import MockProvider
from tests.accounts.sign_in.oidc.visitor import CONNECT, DISCONNECT, events, visit
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def groups(settings: Any, team: Team) -> None:
    settings.WAKE_OIDC_GROUPS = [
        ("admins", "garden", "owner"),
        ("staff", "garden", "reviewer"),
        ("staff", "missing", "reader"),
        ("guests", "garden", "reader"),
    ]


def sign_in(provider: MockProvider, *names: str, **account: Any) -> Membership | None:
    provider.accounts["n-1"] |= {"groups": list(names), **account}
    assert visit(Client()).status_code == 303
    return Membership.objects.filter(user__email="nora@corp.example").first()


def test_they_add_change_and_remove(provider: MockProvider, alice: User, team: Team) -> None:
    roles = []
    for names in (
        ["guests"],
        ["guests", "staff"],
        ["staff", "admins"],
        ["guests"],
        [],
        ["staff"],
    ):
        membership = sign_in(provider, *names)
        roles.append(membership.role if membership else None)

    assert roles == ["reader", "reviewer", "owner", "reader", None, "reviewer"]
    assert events("membership") == [
        "membership.added",
        *["membership.changed"] * 3,
        "membership.removed",
        "membership.added",
    ]
    added = AuditEvent.objects.filter(event="membership.added").earliest("pk")
    assert (added.actor_kind, added.actor_name, added.team_id) == (
        "provider",
        "Example",
        team.pk,
    )
    assert "Example added a member" in text_of(Person(alice).get("/audit/"))


def test_a_membership_that_an_owner_gave_stays(provider: MockProvider, team: Team) -> None:
    nora = User.objects.create_user("nora@corp.example")
    Membership.objects.create(team=team, user=nora, role="reader")

    for names in (["admins"], []):
        membership = sign_in(provider, *names)
        assert membership
        assert membership.role == "reader"


@pytest.mark.parametrize("names", [["staff"], []])
def test_the_last_owner_stays(names: list[str], provider: MockProvider, team: Team) -> None:
    sign_in(provider, "admins")

    membership = sign_in(provider, *names)

    assert membership
    assert membership.role == "owner"


def test_a_claim_that_is_missing_means_no_groups(provider: MockProvider) -> None:
    sign_in(provider, "staff")
    del provider.accounts["n-1"]["groups"]
    visit(Client())

    assert not Membership.objects.filter(from_groups=True).exists()


def test_too_many_groups_change_nothing(provider: MockProvider) -> None:
    """For more than 200 groups, Entra ID leaves the claim out, and says where to ask for the
    groups."""
    sign_in(provider, "staff")
    del provider.accounts["n-1"]["groups"]
    provider.accounts["n-1"]["_claim_names"] = {"groups": "src1"}
    visit(Client())

    assert Membership.objects.filter(from_groups=True).exists()


@pytest.mark.parametrize("odd", [7, {"staff": 1}, [["staff"]], None])
def test_an_odd_claim_means_no_groups(odd: Any, provider: MockProvider) -> None:
    provider.accounts["n-1"]["groups"] = odd
    assert visit(Client()).status_code == 303
    assert not Membership.objects.exists()


def test_disconnecting_leaves_their_teams(
    provider: MockProvider, mallory: User, alice: User
) -> None:
    provider.accounts["n-1"]["groups"] = ["staff"]
    mallorys = Person(mallory)
    visit(mallorys.client, CONNECT)
    assert mallory.memberships.filter(from_groups=True).exists()

    mallorys.client.post(DISCONNECT)

    assert not mallory.memberships.filter(from_groups=True).exists()
    assert mallory.memberships.count() == 1


def test_owners_see_what_came_from_groups(
    provider: MockProvider, alice: User, bob: User, team: Team
) -> None:
    membership = sign_in(provider, "staff")
    assert membership
    alices = Person(alice)

    assert text_of(alices.get("/settings/members/")).count("role from company account") == 1
    page = text_of(alices.get(f"/settings/members/garden/{membership.pk}/"))
    assert "Their company account sets this role." in page
    assert "by a group" not in text_of(Person(bob).get("/settings/members/"))
