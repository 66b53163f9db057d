"""The drill fills a database with rows that the server would have written, and measures it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection

from accounts.log import sweep
from accounts.models import User
from bench.drill import copies, seeds
from database.clock import database_now
from inbox.models import Searchable
from tests.fixtures.strict_client import Client
from tests.wake.callbacks.receiver import Receiver
from wake.models import Callback, Delivery, Response

pytestmark = pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL copies rows")
A_DAY = timedelta(days=1)
SEEDS, COPIES = 100, 19


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_copies_are_rows_that_the_server_would_have_written(
    start_receiver: Callable[..., Receiver],
) -> None:
    before = _indexes()

    _fill(start_receiver().port)

    call_command("audit_verify", "--all")
    assert copies.problems() == []
    assert _indexes() == before
    assert Delivery.objects.count() == Searchable.objects.count() == SEEDS * (COPIES + 1)
    assert set(Delivery.objects.values_list("type", flat=True)) == set(Delivery.Type.values)
    assert Response.objects.count() == Delivery.objects.answered().count() > SEEDS * COPIES / 4
    assert Callback.objects.not_delivered().count() == 0 < Callback.objects.count()
    oldest = Delivery.objects.earliest("created_at")
    assert database_now() - oldest.created_at > COPIES * A_DAY
    assert str(oldest.pk) in _history(f"thread:{oldest.thread}")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_rows_that_the_server_would_not_have_written_are_reported(
    start_receiver: Callable[..., Receiver],
) -> None:
    _fill(start_receiver().port)
    Searchable.objects.filter(delivery=Delivery.objects.latest("created_at")).delete()
    Searchable.objects.filter(delivery=Delivery.objects.earliest("created_at")).update(
        time_buckets=["team1.live.2001-01-01"], delivery=uuid4()
    )

    found = copies.problems()

    assert found[:2] == ["2 deliveries without words", "1 words without a delivery"]


def _fill(port: int) -> None:
    at = database_now()
    with copies.indexes_built_last():
        seeds.make(SEEDS, port=port, within=A_DAY, since=at - 2 * COPIES * A_DAY, at=at)
        copies.multiply(COPIES, seeds=SEEDS, step=A_DAY)
    sweep.append_new(at=database_now())


def _history(query: str) -> str:
    client = Client()
    client.force_login(User.objects.get(email=f"{seeds.TEAM}-0@example.com"))
    return client.get("/history/", {"q": query}).text


def _indexes() -> set[tuple[str]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'")
        return set(cursor.fetchall())
