"""The audit says who had which role in a team, and when."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.access import members
from accounts.audit import SYSTEM, person
from accounts.models import AuditEvent, Membership, Team, User
from accounts.people import deactivation
from accounts.teams import teams
from database.clock import database_now
from inbox.audit.evidence.roles import roles_of

pytestmark = pytest.mark.django_db


def member(team: Team, user: User) -> Membership:
    return Membership.objects.get(team=team, user=user)


def test_a_role_counts_from_the_change_until_the_next(team: Team, alice: User, bob: User) -> None:
    before = database_now()
    pk = str(bob.pk)
    members.change_role(member(team, bob), "reader", by=person(alice))
    as_reader = database_now()
    members.remove(member(team, bob), by=person(alice))
    after = database_now()

    roles = roles_of(team, until=after)

    assert [roles.at(pk, at) for at in (before, as_reader, after)] == ["reviewer", "reader", ""]


def test_a_deactivated_person_has_no_role_until_they_are_back(team: Team, bob: User) -> None:
    before = database_now()
    deactivation.deactivate(bob, by=SYSTEM, at=before)
    while_away = database_now()
    assert roles_of(team, until=while_away).at(str(bob.pk), while_away) == ""
    deactivation.reactivate(bob, by=SYSTEM, at=while_away)
    after = database_now()

    roles = roles_of(team, until=after + timedelta(seconds=1))

    at = (before - timedelta(seconds=1), before, while_away, after)
    assert [roles.at(str(bob.pk), each) for each in at] == ["reviewer", "", "reviewer", "reviewer"]


def test_a_hand_over_changes_two_roles(team: Team, alice: User, bob: User) -> None:
    before = database_now()
    members.hand_over(member(team, alice), to=member(team, bob), by=person(alice))
    after = database_now()

    roles = roles_of(team, until=after)

    people = [str(user.pk) for user in (alice, bob)]
    assert [roles.at(pk, before) for pk in people] == ["owner", "reviewer"]
    assert [roles.at(pk, after) for pk in people] == ["reviewer", "owner"]


def test_who_created_a_team_owns_it_without_an_event(mallory: User) -> None:
    team = teams.create("Bakery", owner=mallory)

    roles = roles_of(team, until=database_now() + timedelta(seconds=1))

    assert roles.at(str(mallory.pk), database_now()) == "owner"
    assert roles.at(str(mallory.pk), team.created_at - timedelta(days=1)) == ""


def test_events_of_earlier_versions_name_people_through_their_membership(
    team: Team, alice: User, bob: User
) -> None:
    members.change_role(member(team, bob), "reader", by=person(alice))
    event = AuditEvent.objects.get(event="membership.changed")
    detail = {name: event.detail[name] for name in ("before", "role")}
    AuditEvent(
        at=event.at + timedelta(seconds=1),
        team_id=team.pk,
        event="membership.changed",
        actor_kind="person",
        actor_id=str(alice.pk),
        object_kind="membership",
        object_id=event.object_id,
        object_name="bob in Garden (reviewer)",
        detail={**detail, "before": "reader", "role": "reviewer"},
    ).save(force_insert=True)

    roles = roles_of(team, until=event.at + timedelta(minutes=1))

    assert roles.at(str(bob.pk), event.at) == "reader"
    assert roles.at(str(bob.pk), event.at + timedelta(seconds=2)) == "reviewer"


def test_a_membership_that_ended_under_an_earlier_version_has_a_name_and_no_id(team: Team) -> None:
    at = database_now()
    for event, role in (("membership.added", {}), ("membership.removed", {"role": "reader"})):
        AuditEvent(
            at=at,
            team_id=team.pk,
            event=event,
            actor_kind="operator",
            object_kind="membership",
            object_id="4711",
            object_name="Olga in Garden (reader)",
            detail=role,
        ).save(force_insert=True)
        at += timedelta(hours=1)

    (held,) = roles_of(team, until=at).held

    assert (held.person_id, held.name, held.role) == ("", "Olga", "reader")
    assert held.until is not None


def test_other_teams_are_left_out(team: Team, alice: User, mallory: User) -> None:
    teams.create("Bakery", owner=mallory)

    roles = roles_of(team, until=database_now() + timedelta(seconds=1))

    assert {each.name for each in roles.held} == {"alice"}
