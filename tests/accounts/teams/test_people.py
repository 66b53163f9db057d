"""People see and do what their role in a team allows."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction

from accounts.access import objects as access
from accounts.models import Agent, ClaimedId, Membership, Team, User


def test_an_address_is_one_person_in_any_case(db: None) -> None:
    user = User.objects.create_user(" Zoe@Example.COM ", "password")

    assert (user.email, user.display_name) == ("zoe@example.com", "zoe")
    assert User.objects.get_by_natural_key("ZOE@example.com ") == user
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(email="ZOE@example.com")
    with pytest.raises(User.DoesNotExist):
        User.objects.get_by_natural_key(None)


def test_cleaning_lowers_the_address(db: None) -> None:
    user = User(email=" Zoe@Example.com", display_name="Zoe")

    user.clean()

    assert user.email == "zoe@example.com"


def test_a_superuser_may_enter_the_admin(db: None) -> None:
    user = User.objects.create_superuser("root@example.com", "password")

    assert user.is_staff
    assert user.is_superuser
    assert user.check_password("password")


def test_a_person_sees_their_own_teams(
    team: Team, alice: User, rita: User, mallory: User, agent: Agent
) -> None:
    """ "In the inbox even a superuser sees only the teams that they belong to." """
    root = User.objects.create_superuser("root@example.com", "password")

    assert list(access.teams_of(alice)) == list(access.teams_of(rita)) == [team]
    assert list(access.agents_of(alice)) == [agent]
    for outsider in (mallory, root, AnonymousUser()):
        assert team not in access.teams_of(outsider)
        assert not access.agents_of(outsider).filter(pk=agent.pk).exists()


def test_owners_and_reviewers_answer(
    team: Team, alice: User, bob: User, rita: User, mallory: User
) -> None:
    people = {"alice": alice, "bob": bob, "rita": rita, "mallory": mallory}

    answering = {name for name, user in people.items() if access.may_answer(user, team.pk)}
    owning = {name for name, user in people.items() if access.is_owner(user, team.pk)}

    assert answering == {"alice", "bob"}
    assert owning == {"alice"}
    assert [row["team"] for row in access.teams_answered_by(bob)] == [team.pk]
    assert list(access.teams_answered_by(rita)) == []


def test_an_agent_id_is_once_a_team(team: Team, agent: Agent) -> None:
    other = Team.objects.create(slug="far", name="Far")
    Agent.objects.create(team=other, agent_id=agent.agent_id)

    with pytest.raises(IntegrityError), transaction.atomic():
        Agent.objects.create(team=team, agent_id=agent.agent_id)


def test_names(team: Team, alice: User, agent: Agent) -> None:
    membership = Membership.objects.get(user=alice)
    claim = ClaimedId.objects.create(agent=agent, pattern="crew-*")

    assert [str(team), str(alice), str(agent)] == ["Garden", "alice", "research-agent-01"]
    assert str(membership) == "alice in Garden (owner)"
    assert str(claim) == "crew-*"
