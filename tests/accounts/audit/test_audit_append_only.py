"""The database refuses to change or remove audit events."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts.audit import SYSTEM, append_only, record
from accounts.log import sweep
from accounts.models import AuditEntry, AuditEvent, LogEntry, Team
from tests.fixtures import version_0_2
from tests.types import MakeDelivery

TABLES = ["accounts_auditevent", "accounts_auditseal", "accounts_logentry"]


@pytest.fixture
def chained_event(team: Team) -> AuditEvent:
    record("team.added", by=SYSTEM, of=team, team=team)
    version_0_2.chain_events(at=timezone.now())
    sweep.append_new(at=timezone.now())
    return AuditEvent.objects.get()


def _refused(statement: str) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    except IntegrityError as error:
        return "append-only" in str(error)
    return False


@pytest.mark.parametrize("table", TABLES)
def test_neither_events_nor_chain_entries_can_be_changed_or_removed(
    chained_event: AuditEvent, table: str
) -> None:
    column = "salt" if table == "accounts_logentry" else "id"
    assert _refused(f"UPDATE {table} SET {column} = {column}")  # noqa: S608 - a name of ours
    assert _refused(f"DELETE FROM {table}")  # noqa: S608 - as above
    if connection.vendor == "postgresql":
        assert _refused(f"TRUNCATE {table}")
    assert (AuditEvent.objects.count(), AuditEntry.objects.count()) == (1, 1)
    assert LogEntry.objects.count() == 1


def test_nothing_is_added_to_a_chain_of_version_0_2(chained_event: AuditEvent) -> None:
    """A sweep of version 0.2 that still runs fails here. Its events go to the log instead."""
    assert _refused(
        "INSERT INTO accounts_auditseal (event_id, chain, position, hash, sealed_at)"
        " SELECT event_id + 1, chain, position + 1, hash, sealed_at FROM accounts_auditseal"
    )


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no REPLACE")
@pytest.mark.parametrize(
    "row",
    [
        "accounts_auditevent SELECT * FROM accounts_auditevent",
        "accounts_auditseal SELECT * FROM accounts_auditseal",
        "accounts_logentry SELECT * FROM accounts_logentry",
    ],
)
def test_neither_can_be_replaced(chained_event: AuditEvent, row: str) -> None:
    assert _refused(f"REPLACE INTO {row}")
    assert AuditEntry.objects.get().event_id == chained_event.pk


def test_a_change_through_django_is_refused(chained_event: AuditEvent) -> None:
    chained_event.actor_name = "Somebody else"

    with pytest.raises(IntegrityError), transaction.atomic():
        chained_event.save()
    with pytest.raises(IntegrityError), transaction.atomic():
        AuditEvent.objects.all().delete()


def test_new_events_can_be_added(chained_event: AuditEvent, make_delivery: MakeDelivery) -> None:
    make_delivery()

    assert AuditEvent.objects.filter(event="delivery.received").count() == 1


def test_migrating_restores_the_triggers(chained_event: AuditEvent) -> None:
    """ "SQLite's table rebuilds drop them silently" """
    append_only.unguard(connection)
    assert not _refused("UPDATE accounts_auditevent SET address = ''")

    call_command("migrate", verbosity=0)
    call_command("migrate", verbosity=0)

    assert _refused("UPDATE accounts_auditevent SET address = ''")
    assert _refused("DELETE FROM accounts_auditseal")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", [1, 2])
def test_a_transactional_test_starts_with_an_empty_guarded_audit(turn: int) -> None:
    assert not AuditEvent.objects.exists()
    team = Team.objects.create(slug=f"turn-{turn}", name="Turn")

    record("team.added", by=SYSTEM, of=team, team=team)

    assert _refused("DELETE FROM accounts_auditevent")
