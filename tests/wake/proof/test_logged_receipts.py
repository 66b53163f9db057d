"""Every receipt gets an entry of the log."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from accounts.log import receipts, sweep, tree
from accounts.log.entries import entry_bytes, entry_of_receipt
from accounts.log.verification import Broken, verify, verify_team
from accounts.models import LogEntry, LogTree, LogWaiting
from tests.accounts.log import rfc9162
from tests.fixtures.agent_client import AgentClient
from wake.models import Receipt, Response

pytestmark = pytest.mark.django_db

Answer = Callable[..., Response]


@pytest.fixture
def receipt(caller: AgentClient, answer: Answer) -> Receipt:
    return _receipt(caller, answer)


def _receipt(caller: AgentClient, answer: Answer) -> Receipt:
    sent = caller.post(caller.payload(type="question", digest=True)).json()
    pk = sent["delivery_id"]
    answer(apps.get_model("wake", "Delivery").objects.get(pk=pk))
    assert caller.client.get(f"/wake/v1/receipt/{pk}", headers=caller.headers).status_code == 200
    return Receipt.objects.get(response__delivery=pk)


def _sweep() -> None:
    sweep.append_new(at=timezone.now())


def test_a_receipt_is_logged_by_the_next_sweep(receipt: Receipt) -> None:
    assert entry_of_receipt(receipt.pk) is None
    assert verify().waiting > 1

    _sweep()

    entry = entry_of_receipt(receipt.pk)
    assert entry is not None
    assert (entry.kind, entry.team_id) == ("receipt", receipt.response.delivery.team_id)
    assert bytes(entry.sha256) == hashlib.sha256(receipt.jwt.encode()).digest()
    assert not LogWaiting.objects.exists()
    stored = LogTree.objects.get()
    entries = [entry_bytes(each) for each in LogEntry.objects.order_by("index")]
    assert (stored.size, bytes(stored.root)) == (len(entries), rfc9162.mth(entries))
    assert tree.inclusion_proof(entry.index, stored.size) == rfc9162.path(entry.index, entries)
    assert verify().waiting == 0
    assert len(verify_team(entry.team_id)) == LogEntry.objects.filter(team_id=entry.team_id).count()


def test_a_changed_receipt_is_found(receipt: Receipt) -> None:
    _sweep()
    Receipt.objects.update(jwt="e30.e30.e30")

    with pytest.raises(Broken, match=f"receipt {receipt.pk} does not match its entry"):
        verify()


def test_a_receipt_without_an_entry_is_found(receipt: Receipt) -> None:
    LogWaiting.objects.all().delete()
    _sweep()

    with pytest.raises(Broken, match=f"Receipt {receipt.pk} has no entry"):
        verify()


def test_a_receipt_without_an_entry_is_found_in_each_range(
    caller: AgentClient, answer: Answer
) -> None:
    for _ in range(3):
        _receipt(caller, answer)

    assert receipts.forgotten(1) is None
    for row in LogWaiting.objects.all():
        row.delete()
        assert receipts.forgotten(1) == row.object_id
        row.save(force_insert=True)


def test_a_receipt_that_is_made_again_gets_another_entry(
    receipt: Receipt, caller: AgentClient
) -> None:
    """The receipt's key was cut before the log had the receipt, so the receipt does not count."""
    call_command("rotate_receipt_key", f"--cut={receipt.key.kid}")
    path = f"/wake/v1/receipt/{receipt.response.delivery_id}"
    assert caller.client.get(path, headers=caller.headers).status_code == 200
    _sweep()

    assert LogEntry.objects.filter(kind="receipt").count() == 2
    assert Receipt.objects.count() == 1
    assert verify().waiting == 0


def test_receipts_that_were_made_before_the_log_are_logged(receipt: Receipt) -> None:
    expected = LogWaiting.objects.values("kind", "object_id", "team_id", "sha256").get()
    expected["sha256"] = bytes(expected["sha256"])
    LogWaiting.objects.all().delete()
    migration: Any = import_module("wake.migrations.0057_receipts_are_logged")

    for _ in range(2):
        migration.append_later(apps, connection.schema_editor())

    found = LogWaiting.objects.values("kind", "object_id", "team_id", "sha256").get()
    assert {**found, "sha256": bytes(found["sha256"])} == expected
