"""The content of tasks is encrypted, rotated and erased like all content."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import ApiKey, Team
from relay.models import (
    Artifact,
    Blob,
    CallerKey,
    Card,
    Event,
    Message,
    PushConfig,
    Run,
    Task,
    TaskDelivery,
)
from relay.protocol.dialects import PushIn
from relay.protocol.fields import InvalidParams
from relay.tasks import lifecycle, pushes, retention
from tests.relay.calling import queue_pushes
from tests.relay.fake_connector import FakeConnector, ask
from tests.types import Answer
from tests.wake.retention.fields import erased_fields, filled
from tests.wake.retention.stored import KEY, tables_with
from wake.models import Callback, Delivery, Retention
from wake.retention import erase_old

NEW_KEY = "another-key-of-thirty-two-characters"
WORDS = ["saffron", "turmeric", "paprika", "vanilla", "nutmeg", "cardamom", "oregano"]
LATER = timedelta(days=31)


@pytest.fixture
def keeps(team: Team) -> Retention:
    return Retention.objects.create(team=team, days=30)


@pytest.fixture
def make_ended(
    card: Card, caller_key: CallerKey, key: ApiKey, answer: Answer
) -> Callable[[], Task]:
    """Creates an ended task with a different word in each field of content."""

    def make() -> Task:
        at, connector = timezone.now(), FakeConnector(key, at=timezone.now())
        push = PushIn("p", "https://hooks.example.com/?token=nutmeg", token="vanilla")
        task = ask(card, caller_key, "Buy saffron.", push=push, at=at)
        large = base64.b64encode(b"cardamom" * 10_000).decode()
        artifact = {"artifactId": "a", "name": "turmeric", "parts": [{"raw": large}]}
        connector.end(
            connector.run(at=at), "input_required", text="Well?", artifacts=[artifact], at=at
        )
        question = Delivery.objects.get()
        answer(question, "redirected", edited_json=json.dumps("More paprika."), feedback="oregano")
        connector.end(connector.run(at=at), "failed", text="There is no saffron.", at=at)
        # The text that a person reads in a list is not content (docs/decisions/0010).
        Delivery.objects.update(headline="Erased elsewhere", summary="")
        queue_pushes()
        Callback.objects.update(due_at=None, delivered_at=at)
        return Task.objects.get(pk=task.pk)

    return make


def read_all() -> None:
    """Acknowledges the deliveries of the inbox."""
    unread = Delivery.objects.filter(answered_at__isnull=True, acknowledged_at__isnull=True)
    unread.update(acknowledged_at=timezone.now())


def sweep(*, days: int) -> bool:
    """Returns whether the task is erased after this many days."""
    at = timezone.now() + timedelta(days=days)
    erase_old(at=at)
    retention.erase_old(at=at)
    return Task.objects.get().erased_at is not None


def test_no_text_of_a_task_is_stored_unencrypted(
    encrypting: Any, make_ended: Callable[[], Task]
) -> None:
    make_ended()

    assert {word: tables_with(word) for word in WORDS} == {word: set() for word in WORDS}


def test_after_a_rotation_the_old_key_can_go(
    encrypting: Any, make_ended: Callable[[], Task]
) -> None:
    task = make_ended()
    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY, KEY]

    call_command("rotate_encryption", stdout=StringIO())

    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY]
    assert task.messages.first().parts == [{"text": "Buy saffron."}]  # type: ignore[union-attr]
    assert Artifact.objects.get().name == "turmeric"
    assert bytes(Blob.objects.get().content)[:8] == b"cardamom"
    decided = Run.objects.exclude(decision_json="").get()
    assert decided.decision is not None
    assert decided.decision["edited_content"] == "More paprika."


def test_a_task_is_erased_when_its_teams_retention_has_passed(
    keeps: Retention, make_ended: Callable[[], Task]
) -> None:
    task = make_ended()
    TaskDelivery.objects.all().delete()  # a task that was never shown to people
    Message.objects.update(idempotency_key="saffron", idempotency_hash="0" * 64)
    ended = task.terminal_at
    assert ended is not None

    assert retention.erase_old(at=ended + timedelta(days=29)) == 0
    assert retention.erase_old(at=ended + LATER) == 1
    assert retention.erase_old(at=ended + LATER) == 0

    task.refresh_from_db()
    assert task.erased_at == ended + LATER
    assert task.state == Task.State.FAILED
    assert task.events.exists()
    assert {
        (row.parts_json, row.idempotency_key, row.idempotency_hash) for row in Message.objects.all()
    } == {("[]", None, "")}
    assert Artifact.objects.get().name == ""
    assert not Blob.objects.exists()
    assert not PushConfig.objects.exists()
    kept = {name: fields & filled(name) for name, fields in erased_fields().items()}
    assert not any(fields for name, fields in kept.items() if name.startswith("relay."))
    assert not Run.objects.exclude(decision_json="").exists()
    assert task.stored_bytes == 0  # the context would otherwise stay full


def test_a_task_that_was_erased_before_holds_nothing(make_ended: Callable[[], Task]) -> None:
    task = make_ended()
    Task.objects.update(erased_at=timezone.now(), stored_bytes=1_000)
    migration = import_module("relay.migrations.0021_erased_tasks_hold_nothing")

    migration.count_nothing(apps, None)

    task.refresh_from_db()
    assert task.stored_bytes == 0


def test_a_task_is_erased_with_its_delivery(
    keeps: Retention, make_ended: Callable[[], Task]
) -> None:
    task = make_ended()

    erase_old(at=timezone.now() + LATER)
    Delivery.objects.filter(erased_at__isnull=True).update(acknowledged_at=timezone.now())
    erase_old(at=timezone.now() + LATER)

    task.refresh_from_db()
    assert task.erased_at is not None
    assert {word: tables_with(word) for word in WORDS} == {word: set() for word in WORDS}


def test_an_unread_delivery_keeps_its_task_and_its_files(
    keeps: Retention, make_ended: Callable[[], Task]
) -> None:
    """Only the delivery of the earlier question, which was answered, is erased."""
    make_ended()

    assert not sweep(days=31)
    assert not sweep(days=300)
    assert list(Delivery.objects.filter(erased_at__isnull=True).values_list("type", flat=True)) == [
        "alert"
    ]
    assert bytes(Blob.objects.get().content)[:8] == b"cardamom"
    assert Message.objects.exclude(parts_json="[]").count() == 4

    read_all()

    assert not sweep(days=29)
    assert sweep(days=31)


def test_an_erased_question_does_not_erase_its_task_early(
    keeps: Retention, make_ended: Callable[[], Task]
) -> None:
    make_ended()
    read_all()
    Task.objects.update(terminal_at=timezone.now() + timedelta(days=10))

    assert not sweep(days=31)
    assert not Delivery.objects.filter(erased_at__isnull=True).exists()
    assert sweep(days=41)


def test_an_unsent_push_keeps_its_task(keeps: Retention, make_ended: Callable[[], Task]) -> None:
    make_ended()
    read_all()
    Callback.objects.update(delivered_at=None, due_at=timezone.now() + timedelta(days=32))

    assert not sweep(days=31)
    Callback.objects.update(due_at=None, given_up_at=timezone.now())

    assert sweep(days=31)


def test_a_push_that_is_still_to_be_made_keeps_its_task(
    keeps: Retention, make_ended: Callable[[], Task]
) -> None:
    task = make_ended()
    read_all()
    Event.objects.filter(task=task, generation=1).update(
        push_due_at=timezone.now() + timedelta(days=32)
    )

    assert not sweep(days=31)
    Event.objects.update(push_due_at=None)

    assert sweep(days=31)


def test_a_suspended_push_does_not_keep_a_task(
    keeps: Retention, make_ended: Callable[[], Task]
) -> None:
    """The caller chose the address of the push. If that address never answers, the content is
    erased all the same."""
    make_ended()
    read_all()
    Callback.objects.update(delivered_at=None, due_at=None)

    assert sweep(days=31)
    assert not Callback.objects.filter(given_up_at__isnull=True).exists()


def test_an_erased_task_has_no_references_and_no_secrets(
    keeps: Retention, make_ended: Callable[[], Task]
) -> None:
    task = make_ended()
    read_all()
    Message.objects.update(
        reference_task_ids=["marjoram"],
        extensions=["urn:marjoram"],
        request_metadata_json='{"of": "marjoram"}',
    )
    pushes.create(task, PushIn("late", "https://hooks.example.com/"), at=timezone.now())
    assert sweep(days=31)

    with pytest.raises(InvalidParams):
        pushes.create(task, PushIn("later", "https://hooks.example.com/"), at=timezone.now())

    assert tables_with("marjoram") == set()
    assert not PushConfig.objects.exists()


def test_an_open_task_keeps_its_messages(
    keeps: Retention, card: Card, caller_key: CallerKey
) -> None:
    task = ask(card, caller_key, at=timezone.now())

    assert retention.erase_old(at=timezone.now() + LATER) == 0
    lifecycle.cancel(task, by=SYSTEM, at=timezone.now())

    assert retention.erase_old(at=timezone.now() + LATER) == 1


def test_a_team_without_retention_keeps_its_tasks(make_ended: Callable[[], Task]) -> None:
    make_ended()

    assert retention.erase_old(at=timezone.now() + LATER) == 0
