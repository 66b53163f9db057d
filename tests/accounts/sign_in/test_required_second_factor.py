"""A team may require two-step sign-in of its members."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import person
from accounts.models import AuditEvent, Team, User
from accounts.sign_in.browsers import session_names
from accounts.sign_in.two_step import one_time_codes, second_factor
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Delivery, Response

SET_UP = "/settings/security/codes/"


def set_up(user: User) -> None:
    secret, at = one_time_codes.new_secret(), timezone.now() - timedelta(minutes=1)
    code = one_time_codes.code_at(secret, one_time_codes.step_at(at))
    assert second_factor.turn_on(user, secret, code, by=person(user), at=at)


def require(owner: Person, team: Team, required: str = "yes") -> Any:
    path = f"/settings/teams/{team.slug}/second-factor"
    return owner.client.post(path, {"required": required}, follow=True)


@pytest.fixture
def required(team: Team, alice: User) -> Team:
    set_up(alice)
    require(Person(alice), team)
    team.refresh_from_db()
    assert team.second_factor_required_at
    return team


def test_an_owner_with_a_second_factor_requires_it(alice: User, bob: User, team: Team) -> None:
    set_up(alice)
    alices = Person(alice)
    assert "member without two-step sign-in" in text_of(alices.get("/settings/teams/"))

    page = text_of(require(alices, team))
    require(alices, team)

    assert f"{team} now requires two-step sign-in." in page
    event = AuditEvent.objects.get(event="team.second_factor_required")
    assert (event.actor_name, event.address) == ("alice", "127.0.0.1")
    audit = text_of(alices.get("/audit/"))
    assert "alice required two-step sign-in for the team" in audit
    assert alices.get("/").status_code == 200


def test_an_owner_without_one_sets_it_up_first(alices: Person, team: Team) -> None:
    page = require(alices, team)

    team.refresh_from_db()
    assert team.second_factor_required_at is None
    assert "Set up two-step sign-in for yourself first." in text_of(page)
    assert page.redirect_chain[-1][0] == "/settings/security/"


def test_only_owners_require_it(bobs: Person, team: Team) -> None:
    set_up(bobs.user)
    bobs = Person(bobs.user)

    assert require(bobs, team).status_code == 403
    team.refresh_from_db()
    assert team.second_factor_required_at is None


def test_it_asks_for_the_password_again(alice: User, team: Team) -> None:
    set_up(alice)
    alices = Person(alice)
    session = alices.client.session
    session[session_names.PASSWORD] = 0
    session.save()

    answer = alices.client.post(f"/settings/teams/{team.slug}/second-factor", {"required": "yes"})

    assert answer["Location"].startswith("/sudo/")


def test_a_member_without_one_can_only_set_it_up(
    bobs: Person, make_delivery: MakeDelivery, required: Team
) -> None:
    delivery = make_delivery()

    for path in ("/", "/agents/", "/audit/", "/settings/profile/", f"/deliveries/{delivery.pk}/"):
        assert bobs.get(path)["Location"] == SET_UP, path
    refused = bobs.answer(delivery, by_hand=True)

    assert (refused.status_code, refused["Location"]) == (303, SET_UP)
    assert not Response.objects.exists()
    page = bobs.get(SET_UP)
    assert page.status_code == 200
    assert f"{required} requires two-step sign-in. Set it up to continue" in text_of(page)
    assert bobs.get("/settings/security/").status_code == 200
    assert bobs.get(f"/settings/members/{required.slug}/leave/").status_code == 200


def test_an_administrator_without_one_does_not_enter_the_admin(
    bobs: Person, required: Team
) -> None:
    User.objects.filter(pk=bobs.user.pk).update(is_staff=True, is_superuser=True)

    answer = bobs.client.get("/admin/accounts/agent/", follow=True)
    set_up(bobs.user)

    assert answer.redirect_chain[-1][0] == SET_UP
    assert Person(User.objects.get(pk=bobs.user.pk)).get("/admin/").status_code == 200


def test_a_member_who_sets_it_up_continues_to_their_page(bob: User, required: Team) -> None:
    set_up(bob)

    assert Person(bob).get("/").status_code == 200


def test_a_member_who_turns_it_off_is_led_back(bob: User, required: Team) -> None:
    set_up(bob)
    second_factor.turn_off(bob, by=person(bob))

    assert Person(bob).get("/")["Location"] == SET_UP


def test_a_member_may_leave_instead(bobs: Person, required: Team) -> None:
    bobs.client.post(f"/settings/members/{required.slug}/leave/")

    assert bobs.get("/").status_code != 303


def test_members_of_other_teams_are_not_affected(mallory: User, required: Team) -> None:
    assert Person(mallory).get("/").status_code == 200


def test_agents_keep_their_keys(caller: AgentClient, bob: User, required: Team) -> None:
    assert caller.post(caller.payload()).status_code == 201
    assert Delivery.objects.count() == 1


def test_the_requirement_ends_at_once(alice: User, bob: User, required: Team) -> None:
    page = text_of(require(Person(alice), required, "no"))

    assert "no longer requires two-step sign-in." in page
    assert Person(bob).get("/").status_code == 200
    assert AuditEvent.objects.filter(event="team.second_factor_not_required").count() == 1
