"""A person moves from one delivery to the next in the order of the inbox."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.access.viewer import Viewer
from accounts.models import Team, User
from inbox.delivery.neighbours import Neighbours, neighbours
from inbox.reading import snoozes
from tests.types import Answer, MakeDelivery
from wake.models import Delivery


@pytest.fixture
def around(alice: User) -> Callable[[Delivery], Neighbours | None]:
    def see(delivery: Delivery) -> Neighbours | None:
        return neighbours(delivery, Viewer.of(alice), at=timezone.now())

    return see


def test_neighbours_follow_the_sections_newest_first(
    make_delivery: MakeDelivery, around: Any
) -> None:
    deliveries = {
        type: [make_delivery(type=type) for _ in range(2)]
        for type in ("update", "question", "output", "alert")
    }
    order = [
        row
        for type in ("question", "alert", "output", "update")
        for row in reversed(deliveries[type])
    ]

    walked = [around(row) for row in order]

    assert [one.previous and one.previous.pk for one in walked] == [
        None,
        *[row.pk for row in order[:-1]],
    ]
    assert [one.next and one.next.pk for one in walked] == [*[row.pk for row in order[1:]], None]
    assert [one.position for one in walked] == [f"{number} of 8" for number in range(1, 9)]


def test_a_closed_delivery_has_no_neighbours(
    make_delivery: MakeDelivery, around: Any, answer: Answer
) -> None:
    answered, old, waiting = (make_delivery() for _ in range(3))
    answer(answered)
    make_delivery(supersedes=old.pk)

    assert around(Delivery.objects.get(pk=answered.pk)) is None
    assert around(Delivery.objects.get(pk=old.pk)) is None
    assert around(waiting).position == "2 of 2"


def test_snoozed_and_filtered_deliveries_are_skipped(
    make_delivery: MakeDelivery, around: Any, alice: User, elsewhere: Delivery
) -> None:
    last, snoozed, first = (make_delivery() for _ in range(3))
    now = timezone.now()
    snoozes.snooze(snoozed, by=alice, until=now + timedelta(hours=1), at=now)

    assert around(first).next.pk == last.pk
    assert around(first).position == "1 of 2"


def test_with_very_many_deliveries_there_are_links_and_no_count(
    make_delivery: MakeDelivery, around: Any
) -> None:
    rows = [make_delivery() for _ in range(120)]

    middle = around(rows[60])

    assert middle.previous.pk == rows[61].pk
    assert middle.next.pk == rows[59].pk
    assert middle.position == ""


def test_it_takes_one_query_however_many_teams(
    make_delivery: MakeDelivery,
    alice: User,
    second_team: Team,
    django_assert_num_queries: Callable[..., Any],
) -> None:
    viewer, delivery = Viewer.of(alice), make_delivery()

    with django_assert_num_queries(1):
        neighbours(delivery, viewer, at=timezone.now())


def test_neighbours_follow_the_priority_as_the_inbox_does(
    make_delivery: MakeDelivery, around: Any
) -> None:
    high = make_delivery(priority="high")
    normal = make_delivery()
    low = make_delivery(priority="low")

    beside = around(normal)

    assert (beside.previous.pk, beside.next.pk) == (high.pk, low.pk)
    assert beside.position == "2 of 3"
