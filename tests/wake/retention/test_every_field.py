"""Each column is erased, or there is a reason why it stays (tests/wake/retention/fields.py)."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from accounts.models import Team, User
from database.idempotency import Idempotency
from inbox.delivery.discussion.comments import write_comment
from inbox.models import Comment
from inbox.search.index import index_new
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer, MakeDelivery, SignedIn
from tests.wake.blobs.drawing import drawn
from tests.wake.retention.fields import OF_DELIVERIES, OF_OTHERS, erased_fields, filled
from wake.blobs import removal
from wake.models import (
    Callback,
    CallbackAttempt,
    Delivery,
    Receipt,
    Response,
    Retention,
    Vote,
)
from wake.outcomes import report
from wake.responses import respond
from wake.retention import erase_old
from wake.undo import take_back

ROOT = Path(__file__).parents[3]
LEFT_OUT = set() if connection.vendor == "postgresql" else {"inbox.Word"}


def test_each_model_and_each_field_is_listed_once() -> None:
    models = {model._meta.label: model for model in apps.get_models(include_auto_created=True)}
    others = Counter(" ".join(OF_OTHERS.values()).split())

    assert others + Counter(list(OF_DELIVERIES)) == Counter(list(models))
    for label, fields in OF_DELIVERIES.items():
        listed = Counter(" ".join(fields.values()).split())
        assert listed == Counter(f.name for f in models[label]._meta.concrete_fields), label


@pytest.fixture
def done(
    team: Team,
    caller: AgentClient,
    make_delivery: MakeDelivery,
    answer: Answer,
    alice: User,
    bob: User,
    allowed_host: str,
) -> None:
    """Fills each erased column of deliveries at least once."""
    now = timezone.now()
    blob = caller.upload(drawn(), content_type="image/png").json()["blob_id"]
    details = {"wake_blocks": 1, "blocks": [{"type": "image", "blob": blob, "alt": "A dot"}]}
    sent = caller.payload(
        headline="About the nutmeg",
        summary="It says cinnamon.",
        details=details,
        assumption="I take the cardamom.",
        timeout_seconds=600,
        thread="saffron",
        x_spice="turmeric",
        callback_webhook=f"https://{allowed_host}/?token=clove",
    )
    answered = caller.post(sent, **{"Idempotency-Key": "k-1"})
    delivery = Delivery.objects.get(pk=answered.json()["delivery_id"])
    write_comment(delivery, "More @bob paprika.", pk=uuid.uuid4(), by=alice, at=now)
    answer(delivery, "redirected", feedback="More.", edited_json=json.dumps({"a": "oregano"}))
    Response.objects.update(left_out="A picture.", signature_json='{"random": "Fennel."}')
    callback = Callback.objects.get()
    Callback.objects.update(headers_ciphertext="x", delivered_at=now, due_at=None)
    assert caller.get(f"receipt/{delivery.pk}").status_code == 200
    assert Receipt.objects.exclude(signature_disclosures="").count() == 1
    CallbackAttempt.objects.create(
        callback=callback, number=1, started_at=now, took_ms=1, status_code=200, answer="vanilla"
    )
    index_new(at=timezone.now())
    report(
        caller.key,
        delivery.pk,
        status="done",
        summary="Sold the juniper.",
        details_json='"Dill"',
        idempotency=Idempotency("k-2", "0" * 64),
        at=now,
    )
    undone = make_delivery(quorum=2)
    for by in (bob, alice):
        given: Any = {"status": "approved", "content_hash": undone.content_hash, "at": now}
        respond(undone, by=by, feedback="Thyme.", **given)
    take_back(undone, by=alice, at=now)
    Delivery.objects.filter(pk=undone.pk).update(
        superseded_at=now,
        withdrawn_at=now,
        withdrawn_reason="Basil.",
        traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    )
    assert Vote.objects.update(signature_json='{"random": "Sumac."}')


@pytest.mark.django_db(transaction=True)
def test_what_is_listed_as_erased_is_empty_afterwards(done: None, team: Team) -> None:
    fields = {
        label: names
        for label, names in erased_fields().items()
        if label.partition(".")[0] in {"wake", "inbox"}
    }
    for label, names in fields.items():
        is_row = {"id", "text"} & names  # the whole row is erased
        assert (filled(label) if is_row else not names - filled(label)) or label in LEFT_OUT
    Retention.objects.create(team=team, days=30)
    later: datetime = timezone.now() + timedelta(days=31)

    assert erase_old(at=later) == 2
    removal.remove_unused(at=later)

    assert Delivery.objects.exclude(erased_at=None).count() == 2
    assert Comment.objects.exists()
    remaining = {label: names for label in fields if (names := fields[label] & filled(label))}
    assert remaining == {"wake.Delivery": {"headline"}}, "Erased on 3 Nov 2026"


def test_the_page_and_the_documents_name_what_is_erased(alice: User, signed_in: SignedIn) -> None:
    page = signed_in(alice).get("/settings/retention/").content.decode()
    [table] = (ROOT / "docs/decisions").glob("0011-*.md")
    erased, _, kept = page.partition("<h2>Kept")

    for word in ("headline", "summary", "details", "assumption", "thread", "provider"):
        assert word in erased
        assert f" {word}" in table.read_text().partition("| ids, times")[0]
    assert "the ID that it delivered as" in kept
    assert "the ID that the agent delivered as" in table.read_text()
