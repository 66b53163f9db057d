"""Compiled queries take any number of values, and return what a QuerySet would."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db.models import Model

from accounts.models import Agent, AuditEvent, Membership, Team, User
from database.compiled_queries import (
    CompiledQuery,
    CompiledUpdate,
    fields_of,
    insert_columns,
    list_parameter,
    parameter,
)
from tests.types import MakeDelivery
from wake.models import Callback, CallbackHost, Delivery

pytestmark = pytest.mark.django_db


def insert(rows: Sequence[Model]) -> None:
    names = [field.attname for field in fields_of(type(rows[0]))]
    insert_columns(type(rows[0]), {name: [getattr(row, name) for row in rows] for name in names})


def test_one_of_takes_any_number_of_values(make_delivery: MakeDelivery) -> None:
    deliveries = [make_delivery() for _ in range(3)]
    chosen = Delivery.objects.filter(pk__one_of=list_parameter("ids", Delivery, "id"))
    others = Delivery.objects.exclude(
        headline__one_of=list_parameter("texts", Delivery, "headline")
    )
    by_id = CompiledQuery(lambda: chosen.order_by("created_at").values_list("pk"))
    without = CompiledQuery(lambda: others.values_list("pk"))

    for number in range(4):
        ids = [delivery.pk for delivery in deliveries[:number]]
        assert [pk for (pk,) in by_id.rows(ids=ids)] == ids

    assert len(without.rows(texts=[])) == 3
    assert without.rows(texts=["{it's", deliveries[0].headline]) == []


def test_objects_are_those_of_a_queryset(
    alice: User, make_delivery: MakeDelivery, django_assert_num_queries: Any
) -> None:
    delivery = make_delivery()
    rows = Membership.objects.filter(user=parameter("user", Membership, "user"))
    memberships = CompiledQuery(lambda: rows.select_related("team", "user__preferences"))
    found = Delivery.objects.filter(pk=parameter("pk", Delivery, "id")).select_related("response")
    deliveries = CompiledQuery(lambda: found.defer("summary"))

    with django_assert_num_queries(2):
        (membership,) = memberships.objects(user=alice.pk)
        (loaded,) = deliveries.objects(pk=delivery.pk)
        assert membership.team.name
        assert not hasattr(loaded, "response")

    expected = Delivery.objects.defer("summary").get()
    assert (membership, loaded) == (Membership.objects.get(user=alice), delivery)
    assert (vars(loaded._state)["db"], loaded._state.adding) == ("default", False)
    assert {**vars(loaded), "_state": None} == {**vars(expected), "_state": None}
    assert loaded.summary == delivery.summary


def test_an_update_changes_the_rows_that_it_names(team: Team, make_delivery: MakeDelivery) -> None:
    first, second = make_delivery(), make_delivery()
    chosen = Delivery.objects.filter(pk__one_of=list_parameter("ids", Delivery, "id"))
    update = CompiledUpdate(chosen, thread=parameter("thread", Delivery, "thread"))

    assert update.run(ids=[first.pk], thread="a thread") == 1

    threads = Delivery.objects.order_by("created_at").values_list("thread", flat=True)
    assert list(threads) == ["a thread", second.thread]


def test_many_rows_are_inserted_as_they_are(team: Team) -> None:
    patterns = ["a.example", 'with "quotes", {braces} and \\', "NULL"]

    insert([CallbackHost(team=team, pattern=pattern) for pattern in patterns])

    stored = CallbackHost.objects.order_by("pk").values_list("pattern", flat=True)
    assert list(stored) == patterns


@pytest.mark.parametrize(
    ("names", "details"),
    [
        (["Alice"], [{"late": True}]),
        (["Alice", "Alice"], [{"late": 1}, {"late": True}]),
        (["Alice", "Bo", "Alice"], [{}, {"a": None}, {}]),
    ],
)
def test_columns_with_one_value_and_with_several_are_inserted_as_they_are(
    team: Team, names: list[str], details: list[dict[str, Any]]
) -> None:
    insert(
        [
            AuditEvent(
                at=team.created_at,
                team_id=None if detail else team.pk,
                event="agent.paused",
                actor_name=name,
                detail=detail,
            )
            for name, detail in zip(names, details, strict=True)
        ]
    )

    stored = AuditEvent.objects.order_by("pk").filter(event="agent.paused")
    assert [row.actor_name for row in stored] == names
    assert json.dumps([row.detail for row in stored]) == json.dumps(details)
    assert [row.team_id for row in stored] == [None if each else team.pk for each in details]
    assert {row.at for row in stored} == {team.created_at}


def test_ids_are_inserted_and_found_as_they_are(agent: Agent) -> None:
    leases = [None, uuid4(), UUID(int=0)]
    rows = [
        Callback(about=uuid4(), agent=agent, team_id=agent.team_id, body=b"{}", lease=lease)
        for lease in leases
    ]
    found = Callback.objects.filter(pk__one_of=list_parameter("ids", Callback, "id"))

    insert(rows)

    stored = CompiledQuery(lambda: found.values_list("pk", "lease", "agent_id"))
    assert sorted(stored.rows(ids=[row.pk for row in rows])) == sorted(
        (row.pk, row.lease, agent.pk) for row in rows
    )
