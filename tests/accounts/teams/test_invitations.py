"""An invitation is a link for one person. The link works for seven days, and only its hash is
stored."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.access import invitations, members
from accounts.audit import person
from accounts.models import AuditEvent, Invitation, Membership, Team, User
from accounts.teams.sign_ups import sign_up
from tests.fixtures.people import PASSWORD

AT = timezone.now()
NEW = "another pair of words"


def make(team: Team, by: User, role: str = "reviewer") -> tuple[Invitation, str]:
    return invitations.invite(team, role=role, by=by, at=AT, address="192.0.2.7")


def test_a_link_lets_one_person_in(team: Team, alice: User, mallory: User) -> None:
    _, text = make(team, alice)
    invitation_row = invitations.find(text, at=AT)
    assert invitation_row

    invitations.accept(invitation_row, by=mallory, at=AT, address="192.0.2.8")

    assert team.memberships.get(user=mallory).role == "reviewer"
    assert invitations.find(text, at=AT) is None
    with pytest.raises(invitations.InvitationEnded):
        invitations.accept(invitation_row, by=User.objects.create_user("o@example.com"), at=AT)
    events = AuditEvent.objects.filter(team_id=team.pk).order_by("pk")
    assert list(events.values_list("event", "actor_name", "detail")) == [
        ("invitation.made", "alice", {"role": "reviewer"}),
        ("membership.joined", "mallory", {"role": "reviewer", "invited_by": "alice"}),
    ]


def test_only_a_hash_of_it_is_kept(team: Team, alice: User) -> None:
    _, text = make(team, alice)

    row = Invitation.objects.values().get()
    assert text not in str(row)
    assert text not in str(list(AuditEvent.objects.values()))
    assert row["digest"] == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "what", ["age", "revoked", "inviter removed", "inviter reviews", "inviter switched off"]
)
def test_a_link_ends(what: str, team: Team, alice: User, bob: User, mallory: User) -> None:
    """An invitation ends with its creator's ownership: a removed owner cannot return through it."""
    members.change_role(team.memberships.get(user=bob), "owner", by=person(alice))
    invitation, text = make(team, alice)
    hers, at = team.memberships.get(user=alice), AT
    assert invitations.find(text, at=AT + timedelta(days=7, seconds=-1))

    match what:
        case "age":
            at = AT + timedelta(days=7)
        case "revoked":
            invitations.revoke(invitation, by=person(bob), at=AT)
        case "inviter removed":
            members.remove(hers, by=person(bob))
        case "inviter reviews":
            members.change_role(hers, "reviewer", by=person(bob))
        case "inviter switched off":
            User.objects.filter(pk=alice.pk).update(is_active=False)

    assert invitations.find(text, at=at) is None
    with pytest.raises(invitations.InvitationEnded):
        invitations.accept(invitation, by=mallory, at=at)
    with pytest.raises(invitations.InvitationEnded):
        sign_up(invitation, email="n@example.com", display_name="N", password=NEW, at=at)
    assert not team.memberships.filter(user=mallory).exists()
    assert not User.objects.filter(email="n@example.com").exists()


@pytest.mark.parametrize("goes", ["removed", "reviews", "leaves", "hands over"])
def test_it_stays_ended_when_its_creator_owns_the_team_again(
    goes: str, team: Team, alice: User, bob: User
) -> None:
    members.change_role(team.memberships.get(user=bob), "owner", by=person(alice))
    _, text = make(team, alice)
    hers, his = team.memberships.get(user=alice), team.memberships.get(user=bob)

    match goes:
        case "removed":
            members.remove(hers, by=person(bob))
        case "reviews":
            members.change_role(hers, "reviewer", by=person(bob))
        case "leaves":
            members.leave(hers, by=person(alice))
        case "hands over":
            members.hand_over(hers, to=his, by=person(alice))
    team.memberships.update_or_create(user=alice, defaults={"role": "owner"})

    assert invitations.find(text, at=AT) is None
    ended = AuditEvent.objects.get(event="invitation.revoked")
    assert ended.actor_name == ("alice" if goes in {"leaves", "hands over"} else "bob")


@pytest.mark.parametrize("text", ["", "wk_join_", "wk_join_" + "0" * 36, "é" * 44, "x" * 9000])
def test_a_malformed_link_costs_no_query(
    text: str, db: None, django_assert_num_queries: pytest.FixtureRequest
) -> None:
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert invitations.find(text, at=AT) is None


def test_revoking_twice_is_once(team: Team, alice: User) -> None:
    invitation, _ = make(team, alice)

    invitations.revoke(invitation, by=person(alice), at=AT)
    invitations.revoke(invitation, by=person(alice), at=AT)

    assert AuditEvent.objects.filter(event="invitation.revoked").count() == 1


def test_a_member_does_not_use_the_link_up(
    team: Team, alice: User, rita: User, mallory: User
) -> None:
    invitation, _ = make(team, alice, role="owner")

    with pytest.raises(invitations.AlreadyMember):
        invitations.accept(invitation, by=rita, at=AT)

    assert team.memberships.get(user=rita).role == "reader"
    assert invitations.accept(invitation, by=mallory, at=AT).role == "owner"


@pytest.mark.parametrize("who", ["bob", "rita", "mallory"])
def test_only_owners_invite(
    who: str, team: Team, alice: User, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(invitations.NotAnOwner):
        make(team, request.getfixturevalue(who))
    assert not Invitation.objects.exists()


def test_the_number_of_open_invitations_is_limited(team: Team, alice: User) -> None:
    for _ in range(invitations.MAX_OPEN):
        invitation, _ = make(team, alice)

    with pytest.raises(invitations.TooManyInvitations):
        make(team, alice)
    invitations.revoke(invitation, by=person(alice), at=AT)
    assert make(team, alice)


def test_a_new_person_joins_with_a_name_and_a_password(team: Team, alice: User) -> None:
    invitation, text = make(team, alice)

    sign_up(invitation, email=" Nora@Example.com", display_name="Nora", password=NEW, at=AT)

    nora = User.objects.get(email="nora@example.com")
    assert nora.check_password(NEW)
    assert (nora.display_name, nora.is_staff, nora.is_superuser) == ("Nora", False, False)
    assert team.memberships.get(user=nora).role == "reviewer"
    assert invitations.joined_by(nora, text) == team
    assert invitations.joined_by(alice, text) is None
    events = AuditEvent.objects.filter(actor_name="Nora").order_by("pk")
    assert [event.event for event in events] == ["person.added", "membership.joined"]


@pytest.mark.parametrize("email", ["mallory@example.com", "Mallory@Example.com"])
def test_an_address_that_is_taken_cannot_be_used_again(
    email: str, team: Team, alice: User, mallory: User
) -> None:
    invitation, text = make(team, alice)

    sign_up(invitation, email=email, display_name="M", password=NEW, at=AT)

    mallory.refresh_from_db()
    assert mallory.check_password(PASSWORD)
    assert mallory.display_name == "mallory"
    assert not Membership.objects.filter(team=team, user=mallory).exists()
    assert invitations.find(text, at=AT), "They sign in, and accept it."


def test_old_invitations_are_deleted(team: Team, alice: User) -> None:
    make(team, alice)

    invitations.forget_old(at=AT + timedelta(days=36))
    assert Invitation.objects.count() == 1
    invitations.forget_old(at=AT + timedelta(days=38))
    assert not Invitation.objects.exists()
