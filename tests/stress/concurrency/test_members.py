"""Members join and leave concurrently."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from accounts.access import invitations, members
from accounts.audit import person
from accounts.models import AuditEvent, Membership, Team, User
from accounts.teams import teams
from tests.stress.concurrency.threads import at_once


def leaving(membership: Membership) -> Callable[[], bool]:
    def leave() -> bool:
        try:
            members.leave(membership, by=person(membership.user))
        except members.LastOwner:
            return False
        return True

    return leave


def test_of_two_owners_who_leave_concurrently_one_stays(team: Team, alice: User, bob: User) -> None:
    team.memberships.update(role=Membership.Role.OWNER)

    left = at_once(*[leaving(each) for each in team.memberships.select_related("user")])

    assert sorted(left) == [False, True]
    assert team.memberships.that_own().count() == 1
    assert AuditEvent.objects.filter(event="membership.left").count() == 1


def test_one_invitation_lets_one_of_many_in(team: Team, alice: User) -> None:
    now = timezone.now()
    invitation, _ = invitations.invite(team, role="reader", by=alice, at=now)
    many = [User.objects.create_user(f"person{number}@example.com") for number in range(4)]

    def accepting(user: User) -> Callable[[], bool]:
        def accept() -> bool:
            try:
                invitations.accept(invitation, by=user, at=now)
            except invitations.InvitationEnded:
                return False
            return True

        return accept

    let_in = at_once(*[accepting(user) for user in many])

    assert let_in.count(True) == 1
    assert team.memberships.count() == 2


def test_teams_created_concurrently_have_different_handles(alice: User, bob: User) -> None:
    new_teams = at_once(
        *[lambda user=user: teams.create("Orchard", owner=user) for user in (alice, bob)]
    )

    assert {each.slug for each in new_teams} == {"orchard", "orchard-2"}
