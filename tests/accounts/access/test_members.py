"""Each action on teams and members does or refuses one thing, and records one event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accounts.access import members
from accounts.audit import person
from accounts.models import AuditEvent, Membership, Team, User
from accounts.teams import teams


def of(user: User, team: Team) -> Membership:
    return team.memberships.get(user=user)


def roles(team: Team) -> dict[str, str]:
    return dict(team.memberships.values_list("user__display_name", "role"))


def events(team: Team) -> list[tuple[str, str, dict[str, Any]]]:
    rows = AuditEvent.objects.filter(team_id=team.pk).order_by("pk")
    return list(rows.values_list("event", "actor_name", "detail"))


def test_the_creator_of_a_team_owns_it(bob: User) -> None:
    team = teams.create("Café Orchard", owner=bob, address="192.0.2.7")

    assert (team.slug, team.name, roles(team)) == (
        "cafe-orchard",
        "Café Orchard",
        {"bob": "owner"},
    )
    assert events(team) == [("team.added", "bob", {})]
    assert AuditEvent.objects.get(team_id=team.pk).address == "192.0.2.7"


def test_a_handle_is_one_teams_alone(bob: User, team: Team) -> None:
    new_teams = [teams.create(name, owner=bob) for name in ("Garden", "garden", "果樹園", "x" * 80)]

    handles = [each.slug for each in new_teams]
    assert handles == ["garden-2", "garden-3", "team", "x" * 40]


def test_the_number_of_teams_a_person_owns_is_limited(bob: User) -> None:
    for _ in range(teams.MAX_OWNED):
        teams.create("Orchard", owner=bob)

    with pytest.raises(teams.TooManyTeams):
        teams.create("Orchard", owner=bob)
    assert bob.teams.count() == teams.MAX_OWNED + 1


def test_a_new_name_keeps_the_handle(team: Team, alice: User) -> None:
    teams.rename(team, "Kitchen garden", by=person(alice))
    teams.rename(team, "Kitchen garden", by=person(alice))

    team.refresh_from_db()
    assert (team.name, team.slug) == ("Kitchen garden", "garden")
    assert events(team) == [("team.renamed", "alice", {"before": "Garden"})]


def test_a_member_gets_another_role(team: Team, alice: User, bob: User) -> None:
    members.change_role(of(bob, team), "reader", by=person(alice))
    members.change_role(of(bob, team), "reader", by=person(alice))

    assert roles(team) == {"alice": "owner", "bob": "reader"}
    changed = {"before": "reviewer", "role": "reader", "person": bob.pk}
    assert events(team) == [("membership.changed", "alice", changed)]


def test_a_removed_member_is_gone(team: Team, alice: User, bob: User) -> None:
    membership = of(bob, team)
    members.remove(membership, by=person(alice))

    assert roles(team) == {"alice": "owner"}
    assert events(team) == [("membership.removed", "alice", {"role": "reviewer", "person": bob.pk})]
    with pytest.raises(members.NoLongerMember):
        members.remove(membership, by=person(alice))
    with pytest.raises(members.NoLongerMember):
        members.change_role(membership, "owner", by=person(alice))
    assert len(events(team)) == 1


def test_a_member_who_leaves_is_gone(team: Team, alice: User, rita: User) -> None:
    members.leave(of(rita, team), by=person(rita))

    assert roles(team) == {"alice": "owner"}
    assert events(team) == [("membership.left", "rita", {"role": "reader", "person": rita.pk})]


@pytest.mark.parametrize("verb", ["leave", "remove", "reviewer"])
@pytest.mark.parametrize("other", ["", "reviewer", "deactivated owner"])
def test_the_last_owner_cannot_leave(
    verb: str, other: str, team: Team, alice: User, request: pytest.FixtureRequest
) -> None:
    """Another owner who cannot sign in does not count, because that owner could not manage the
    team."""
    if other:
        bob = request.getfixturevalue("bob")
    if other == "deactivated owner":
        Membership.objects.filter(user=bob).update(role=Membership.Role.OWNER)
        User.objects.filter(pk=bob.pk).update(is_active=False)
    before = roles(team)
    hers, by = of(alice, team), person(alice)
    going: dict[str, Callable[[], object]] = {
        "leave": lambda: members.leave(hers, by=by),
        "remove": lambda: members.remove(hers, by=by),
        "reviewer": lambda: members.change_role(hers, "reviewer", by=by),
    }

    with pytest.raises(members.LastOwner):
        going[verb]()
    assert roles(team) == before
    assert events(team) == []


def test_one_of_two_owners_can_leave(team: Team, alice: User, bob: User) -> None:
    members.change_role(of(bob, team), "owner", by=person(alice))

    members.leave(of(alice, team), by=person(alice))

    assert roles(team) == {"bob": "owner"}


def test_a_team_is_handed_over(team: Team, alice: User, bob: User) -> None:
    former = of(alice, team)
    members.hand_over(former, to=of(bob, team), by=person(alice))

    assert roles(team) == {"alice": "reviewer", "bob": "owner"}
    detail = {
        "person": bob.pk,
        "before": "reviewer",
        "former": "alice",
        "former_membership": former.pk,
    }
    assert events(team) == [("team.handed_over", "alice", detail)]


@pytest.mark.parametrize("who", ["herself", "deactivated", "of another team"])
def test_a_team_is_handed_over_to_another_member_only(
    who: str, team: Team, alice: User, bob: User, mallory: User
) -> None:
    match who:
        case "herself":
            to = of(alice, team)
        case "deactivated":
            User.objects.filter(pk=bob.pk).update(is_active=False)
            to = of(bob, team)
        case _:
            to = mallory.memberships.get()

    with pytest.raises(members.CannotOwn):
        members.hand_over(of(alice, team), to=to, by=person(alice))
    assert roles(team) == {"alice": "owner", "bob": "reviewer"}
    assert events(team) == []


def test_a_reviewer_cannot_hand_a_team_over(team: Team, alice: User, bob: User, rita: User) -> None:
    with pytest.raises(members.CannotOwn):
        members.hand_over(of(bob, team), to=of(rita, team), by=person(bob))


@pytest.mark.parametrize("what", ["remove", "promote"])
def test_an_owner_who_is_removed_meanwhile_changes_no_member(
    what: str, team: Team, alice: User, bob: User, rita: User
) -> None:
    """The page checks the role first. The action checks the role again under the lock of the
    team."""
    members.change_role(of(bob, team), "owner", by=person(alice))
    members.remove(of(bob, team), by=person(alice))
    before = roles(team)
    acts: dict[str, Callable[[], object]] = {
        "remove": lambda: members.remove(of(alice, team), by=person(bob)),
        "promote": lambda: members.change_role(of(rita, team), "owner", by=person(bob)),
    }

    with pytest.raises(members.NoLongerOwner):
        acts[what]()

    assert roles(team) == before
