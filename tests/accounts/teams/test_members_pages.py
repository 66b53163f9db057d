"""Owners manage members in the browser. Other members see the list of members, and everyone may
leave."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Membership, Team, User
from accounts.sign_in.browsers import session_names
from tests.inbox.person import Person, text_of
from wake.models import Delivery

MEMBERS = "/settings/members/"


def page_of(user: User, team: Team, action: str = "") -> str:
    return f"{MEMBERS}{team.slug}/{team.memberships.get(user=user).pk}/{action}"


def roles(team: Team) -> dict[str, str]:
    return dict(team.memberships.values_list("user__display_name", "role"))


def test_only_owners_see_the_controls(alices: Person, bobs: Person, team: Team) -> None:
    hers, his = (person.get(MEMBERS) for person in (alices, bobs))

    assert page_of(bobs.user, team) in hers.content.decode()
    assert f"{MEMBERS}garden/invite/" in hers.content.decode()
    assert "invite/" not in his.content.decode()
    assert "Only team owners can manage members" in text_of(his)
    for page in (hers, his):
        assert f"{MEMBERS}garden/leave/" in page.content.decode()


def test_owners_see_addresses_and_the_others_names(
    alices: Person, bobs: Person, rita: User, mallory: User, team: Team
) -> None:
    Membership.objects.create(team=team, user=mallory, role=Membership.Role.READER)
    addresses = {user.email for user in (alices.user, bobs.user, rita, mallory)}

    hers = alices.get(MEMBERS).content.decode()
    one = alices.get(page_of(rita, team)).content.decode()
    theirs = [person.get(MEMBERS).content.decode() for person in (bobs, Person(rita))]
    of_another_teams_owner = Person(mallory).get(MEMBERS).content.decode()

    assert {each for each in addresses if each in hers} == addresses
    assert rita.email in one
    assert not [each for each in addresses for page in theirs if each in page]
    assert {each for each in addresses if each in of_another_teams_owner} == {mallory.email}


def test_an_owner_gives_another_role(alices: Person, bob: User, team: Team) -> None:
    page = alices.get(page_of(bob, team))
    assert re.search(r'<input[^>]+value="reviewer"[^>]+checked', page.content.decode())

    answer = alices.client.post(page_of(bob, team, "role"), {"role": "reader"}, follow=True)

    assert answer.redirect_chain == [(MEMBERS, 303)]
    assert "Saved." in text_of(answer)
    assert roles(team)["bob"] == "reader"
    assert AuditEvent.objects.get(event="membership.changed").address == "127.0.0.1"
    assert "alice changed a member's role to reader" in text_of(alices.get("/audit/"))


@pytest.mark.parametrize("role", ["", "emperor"])
def test_there_are_three_roles(role: str, alices: Person, bob: User, team: Team) -> None:
    answer = alices.client.post(page_of(bob, team, "role"), {"role": role})

    assert answer.status_code == 422
    assert roles(team)["bob"] == "reviewer"


def test_a_team_is_handed_over(alices: Person, bob: User, team: Team) -> None:
    answer = alices.client.post(page_of(bob, team, "hand-over"), follow=True)

    assert "bob now owns Garden. You are a reviewer." in text_of(answer)
    assert roles(team) == {"alice": "reviewer", "bob": "owner"}
    assert alices.get(page_of(bob, team)).status_code == 403


@pytest.mark.parametrize(("action", "form"), [("role", {"role": "reader"}), ("remove", {})])
def test_the_last_owner_sees_that_she_cannot_leave(
    action: str, form: dict[str, str], alices: Person, bob: User, team: Team
) -> None:
    before = roles(team)

    answer = alices.client.post(page_of(alices.user, team, action), form)

    assert answer.status_code == 409
    assert "A team needs an owner" in text_of(answer)
    assert roles(team) == before


def test_every_other_member_may_leave(alices: Person, bobs: Person, team: Team) -> None:
    assert "Cancel" in text_of(bobs.get(f"{MEMBERS}garden/leave/"))

    left = bobs.client.post(f"{MEMBERS}garden/leave/", follow=True)
    refused = alices.client.post(f"{MEMBERS}garden/leave/")

    assert "You left Garden." in text_of(left)
    assert refused.status_code == 409
    assert "A team needs an owner" in text_of(refused)
    assert roles(team) == {"alice": "owner"}
    assert AuditEvent.objects.get(event="membership.left").actor_name == "bob"


def test_a_removed_member_loses_access_at_the_next_request(
    alices: Person, bobs: Person, team: Team, make_delivery: Any, answer: Any
) -> None:
    """The session is still open, and no longer knows the team."""
    delivery: Delivery = make_delivery(headline="Only for the garden", details_json='"Long."')
    done: Delivery = make_delivery(headline="Answered by bob")
    answer(done, by=bobs.user)
    of_it = [
        f"/deliveries/{delivery.pk}/",
        f"/deliveries/{delivery.pk}/raw",
        f"/deliveries/{delivery.pk}/edit",
        f"/deliveries/{done.pk}/",
        f"/agents/{delivery.agent_id}/",
        f"/audit/{AuditEvent.objects.filter(team_id=team.pk).latest('pk').pk}/",
        f"{MEMBERS}garden/leave/",
    ]
    assert [bobs.get(path).status_code for path in of_it] == [200] * len(of_it)

    removed = alices.client.post(page_of(bobs.user, team, "remove"), follow=True)

    assert "bob was removed from Garden." in text_of(removed)
    assert [bobs.get(path).status_code for path in of_it] == [404] * len(of_it)
    assert bobs.answer(delivery).status_code == 404
    assert bobs.undo(done).status_code == 404
    for path in ("/", "/history/", "/agents/", "/audit/", MEMBERS):
        page = bobs.get(path).content.decode()
        assert "garden" not in page.replace("Only for the garden", "garden!"), path
        assert delivery.agent.agent_id not in page
    assert roles(team) == {"alice": "owner"}


def test_a_member_removed_meanwhile_is_not_listed(alices: Person, bob: User, team: Team) -> None:
    path = page_of(bob, team, "remove")
    Membership.objects.filter(user=bob).delete()

    assert alices.client.post(path).status_code == 404


@pytest.mark.parametrize("action", ["role", "remove", "hand-over"])
def test_a_page_left_open_changes_no_member(
    action: str, alices: Person, bob: User, team: Team
) -> None:
    session = alices.client.session
    session[session_names.PASSWORD] = (timezone.now() - timedelta(minutes=16)).timestamp()
    session.save()
    path, before = page_of(bob, team, action), roles(team)

    member_page = alices.client.get(page_of(bob, team, ""))
    answer = alices.client.post(path, {"role": "owner"})

    assert member_page.status_code == 200, "Looking takes no password."
    assert (answer.status_code, answer["Location"].partition("?")[0]) == (303, "/sudo/")
    assert roles(team) == before


@pytest.mark.parametrize("who", ["bob", "rita"])
@pytest.mark.parametrize("action", ["role", "remove", "hand-over"])
def test_only_owners_change_who_is_in_a_team(
    who: str, action: str, team: Team, alice: User, request: pytest.FixtureRequest
) -> None:
    user = request.getfixturevalue(who)
    before = roles(team)

    for target in (user, alice):
        answer = Person(user).client.post(page_of(target, team, action), {"role": "owner"})
        assert answer.status_code == 403
        assert "Only team owners can manage members" in text_of(answer)
    assert roles(team) == before
