"""The drill fills a database with rows that the server would have written, and measures it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from accounts.log import sweep
from accounts.models import User
from bench.drill import copies, seeds
from bench.drill.__main__ import Effort, run
from bench.tools import servers
from database.clock import database_now
from inbox.models import Searchable
from tests.fixtures.migrated import migrated
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


@pytest.mark.system
@pytest.mark.once  # the drill makes its own databases
def test_the_drill_measures_a_few_thousand_deliveries() -> None:
    name = f"test_wake_drill_{uuid4().hex[:12]}"
    effort = Effort(pages=24, deliveries=40, rounds=1)

    steps = run(2_000, few=200, effort=effort, name=name, template=migrated(settings.DATABASE_URL))
    rows = {row.name: row for rows in steps for row in rows}

    assert all(row.measured > 0 for row in rows.values())
    assert {"list page, p95", "delivery, CPU", "a month erased", "restore"} <= rows.keys()
    assert 75 < int(rows["a month erased"].note.partition(" ")[0]) < 90  # 30 of 730 days
    assert not _exists(name)


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


def _exists(name: str) -> bool:
    with psycopg.connect(servers.SERVER_URL) as server:
        query = "SELECT 1 FROM pg_database WHERE starts_with(datname, %s)"
        return bool(server.execute(query, [name]).fetchall())
