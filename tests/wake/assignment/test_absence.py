"""Deliveries for a person who is away go to their deputy, too, until the absence ends."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Absence, AuditEvent, Membership, Team, User
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery, MakeRule
from wake.assignment.assigned import assigned_to
from wake.models import AssignedPerson, Delivery

ABSENCE = "/settings/absence/"


def people(delivery: Delivery) -> list[tuple[str, str]]:
    rows = AssignedPerson.objects.filter(assignment__deliveries=delivery.pk).order_by("name")
    return list(rows.values_list("name", "deputy_for"))


def away(user: User, deputy: User | None, **until: float) -> None:
    at = timezone.now() + timedelta(**until or {"days": 3})
    Absence.objects.update_or_create(user=user, defaults={"until": at, "deputy": deputy})


@pytest.fixture
def carla(team: Team) -> User:
    carla = User.objects.create_user("carla@example.com")
    Membership.objects.create(team=team, user=carla, role=Membership.Role.REVIEWER)
    return carla


def test_a_deputy_is_assigned_until_the_absence_ends(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, bob: User, carla: User
) -> None:
    make_rule("Bo's", people=[bob], only_they=True)
    away(bob, carla)

    during = make_delivery()
    after = make_delivery(at=timezone.now() + timedelta(days=3))

    assert people(during) == [("bob", ""), ("carla", "bob")]
    assert people(after) == [("bob", "")]
    assert not assigned_to([during.pk])[during.pk].blocks(carla.pk)
    assert "carla stands in for bob, who is away." in text_of(alices.see(during))


def test_one_deputy_of_two_people_is_assigned_once(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User, carla: User
) -> None:
    make_rule("Both", people=[alice, bob])
    away(alice, carla)
    away(bob, carla)

    assert people(make_delivery()) == [("alice", ""), ("bob", ""), ("carla", "alice")]


def test_a_deputy_whom_the_rule_names_is_no_deputy(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    make_rule("Both", people=[bob], role="owner")
    away(bob, alice)

    assert people(make_delivery()) == [("alice", ""), ("bob", "")]


@pytest.mark.parametrize("who", ["rita", "mallory"])
def test_a_deputy_who_may_not_answer_is_not_assigned(
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
    bob: User,
    who: str,
    request: pytest.FixtureRequest,
) -> None:
    make_rule("Bo's", people=[bob])
    away(bob, request.getfixturevalue(who))

    assert people(make_delivery()) == [("bob", "")]


def test_an_absence_of_another_person_does_not_matter(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User, carla: User
) -> None:
    make_rule("Bo's", people=[bob])
    away(alice, carla)

    assert people(make_delivery()) == [("bob", "")]


def test_a_person_says_on_the_page_that_they_are_away_and_back(
    bobs: Person, carla: User, rita: User, mallory: User
) -> None:
    day = (timezone.localdate() + timedelta(days=5)).isoformat()

    form = bobs.get(ABSENCE).context["form"]
    assert [name for _, name in form.fields["deputy"].choices] == ["No one", "carla"]
    saved = bobs.client.post(ABSENCE, {"back_on": day, "deputy": carla.pk}, follow=True)

    assert "You're away until" in text_of(saved)
    assert "carla stands in for you." in text_of(saved)
    assert "Away" in text_of(bobs.get("/settings/"))
    absence = Absence.objects.get()
    assert (absence.user, absence.deputy) == (bobs.user, carla)
    assert timezone.localtime(absence.until).isoformat()[:10] == day

    bobs.client.post(ABSENCE, {"back_on": "", "deputy": ""})
    assert not Absence.objects.exists()
    bobs.client.post(ABSENCE, {"back_on": "", "deputy": ""})
    events = AuditEvent.objects.filter(event__in=["person.away", "person.back"]).order_by("pk")
    assert [event.event for event in events] == ["person.away", "person.back"]


@pytest.mark.parametrize(
    "form",
    [
        {"back_on": "2020-01-01"},
        {"back_on": "9999-12-31"},
        {"back_on": "soon"},
        {"back_on": "", "deputy": "7000000"},
        {"back_on": "", "deputy": "x"},
    ],
)
def test_an_absence_that_cannot_be(bobs: Person, form: Any) -> None:
    answer = bobs.client.post(ABSENCE, form)

    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert not Absence.objects.exists()


def test_an_outsider_cannot_be_a_deputy(bobs: Person, mallory: User) -> None:
    day = (timezone.localdate() + timedelta(days=5)).isoformat()

    answer = bobs.client.post(ABSENCE, {"back_on": day, "deputy": mallory.pk})

    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY


def test_an_absence_outlives_its_deputy(
    make_rule: MakeRule, make_delivery: MakeDelivery, bob: User, carla: User
) -> None:
    make_rule("Bo's", people=[bob])
    away(bob, carla)
    carla.delete()

    assert people(make_delivery()) == [("bob", "")]
