"""On PostgreSQL, deliveries of a rule share an assignment. Each has the people of the moment when
it arrived (docs/decisions/0064-deliveries-share-their-assignment.md)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.agents import keys
from accounts.models import Absence, ApiKey, Membership, Team, User
from tests.types import MakeRule
from wake.assignment.assigned import assigned_to
from wake.assignment.escalation import escalate_due
from wake.assignment.taking import take
from wake.deliveries import deliver
from wake.models import Assignment, Delivery
from wake.models.rules import EscalationStep

pytestmark = pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL")

FIELDS: Any = {"provider": "claude", "type": "output", "headline": "Report", "summary": "Ready."}
Delivering = Callable[..., Delivery]


@pytest.fixture
def delivering(key: ApiKey) -> Delivering:
    """Delivers. If a rule has matched before, the delivery takes one statement."""

    def delivered(at: datetime | None = None) -> Delivery:
        now = at or timezone.now()
        known = keys.look_up_again(key, at=now)
        fields = {**FIELDS, "agent_id": known.agent.agent_id}
        made = deliver(known.agent, key=known, at=now, **fields).delivery
        return Delivery.objects.get(pk=made.pk)

    return delivered


def names(delivery: Delivery) -> list[str]:
    return [person.name for person in assigned_to([delivery.pk])[delivery.pk].people]


def _joins(team: Team) -> None:
    carla = User.objects.create_user("carla@example.com", display_name="carla")
    Membership.objects.create(team=team, user=carla, role="reviewer")


def _is_away(team: Team) -> None:
    until = timezone.now() + timedelta(days=1)
    deputy = Membership.objects.get(team=team, role="owner").user
    Absence.objects.create(user=User.objects.get(display_name="bob"), until=until, deputy=deputy)


CHANGES: dict[str, tuple[Callable[[Team], Any], list[str]]] = {
    "one joins": (_joins, ["bob", "carla"]),
    "one leaves": (lambda team: team.memberships.filter(role="reviewer").delete(), []),
    "a role": (lambda team: team.memberships.filter(role="reviewer").update(role="reader"), []),
    "a name": (
        lambda team: team.people.filter(display_name="bob").update(display_name="Bo"),
        ["Bo"],
    ),
    "deactivated": (
        lambda team: team.people.filter(display_name="bob").update(is_active=False),
        [],
    ),
    "deleted": (lambda team: team.people.filter(display_name="bob").delete(), []),
    "away": (_is_away, ["alice", "bob"]),
}


def test_deliveries_share_it_while_the_team_stays_as_it_is(
    make_rule: MakeRule, delivering: Delivering, bob: User
) -> None:
    make_rule(people=[bob])

    deliveries = [delivering() for _ in range(3)]
    User.objects.filter(pk=bob.pk).update(last_login=timezone.now())
    Membership.objects.create(team=Team.objects.create(name="Other", slug="other"), user=bob)
    deliveries.append(delivering())

    assert len({delivery.assignment_id for delivery in deliveries[:3]}) == 1
    assert Assignment.objects.filter(current_until__isnull=False).count() <= 1
    assert [names(delivery) for delivery in deliveries] == [["bob"]] * 4


@pytest.mark.parametrize(("change", "after"), CHANGES.values(), ids=CHANGES)
def test_each_change_of_the_people_ends_it(
    make_rule: MakeRule,
    delivering: Delivering,
    team: Team,
    alice: User,
    bob: User,
    change: Callable[[Team], Any],
    after: list[str],
) -> None:
    make_rule(role="reviewer")
    before = [delivering(), delivering()]
    assert before[0].assignment_id == before[1].assignment_id

    change(team)
    later = [delivering(), delivering()]

    assert [names(delivery) for delivery in before] == [["bob"]] * 2
    assert [names(delivery) for delivery in later] == [after] * 2


def test_it_ends_when_a_person_is_back(
    make_rule: MakeRule, delivering: Delivering, team: Team, alice: User, bob: User
) -> None:
    make_rule(role="reviewer")
    _is_away(team)
    later = timezone.now() + timedelta(days=2)

    deliveries = [delivering(), delivering(), delivering(later), delivering(later)]

    assert [names(each) for each in deliveries] == [["alice", "bob"]] * 2 + [["bob"]] * 2


def test_what_a_person_takes_is_theirs_alone(
    make_rule: MakeRule, delivering: Delivering, alice: User, bob: User
) -> None:
    make_rule(people=[bob], only_they=True)
    delivering()
    taken, other = delivering(), delivering()
    assert taken.assignment_id == other.assignment_id

    take(taken, by=alice, at=timezone.now())

    assert names(taken) == ["alice", "bob"]
    assert names(other) == names(delivering()) == ["bob"]
    assert assigned_to([taken.pk])[taken.pk].only_they


def test_a_step_of_escalation_is_for_one_delivery(
    make_rule: MakeRule, delivering: Delivering, alice: User, bob: User
) -> None:
    make_rule(people=[bob], escalation=[EscalationStep(minutes=5, people=[alice.pk], role="")])
    delivering()
    first, second = delivering(), delivering()
    Delivery.objects.filter(pk=second.pk).update(acknowledged_at=timezone.now())

    escalate_due(at=timezone.now() + timedelta(minutes=6))

    assert names(first) == ["alice", "bob"]
    assert assigned_to([first.pk])[first.pk].added == [
        "alice was added after 5 minutes without an answer."
    ]
    assert names(second) == ["bob"]
