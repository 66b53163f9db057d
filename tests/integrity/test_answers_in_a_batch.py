"""A page on which people answer several deliveries shows each delivery whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts.models import ApiKey, AuditEvent
from database.clock import database_now
from inbox.answering.batches.batches import MESSAGES, NOT_HERE
from tests.inbox.answering.batches.test_batch import choose, review, send
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from tests.wake.blobs.showing import file, page
from wake.blobs.uploads import upload
from wake.models import Response

ROWS = [[number] for number in range(5_000)]
MORE: dict[str, dict[str, Any]] = {
    "irreversible": {"irreversible": True},
    "other fields": {"extensions": {"command": "rm -rf /"}},
    "callback": {"callback_webhook": "https://hooks.example.com/x"},
    "long details": {"details_json": json.dumps("long words " * 2_000)},
    "rows that do not fit": {
        "details_json": json.dumps(
            page({"type": "table", "columns": ["a"] * 30, "rows": [[1] * 30] * 105})
        )
    },
}


@pytest.fixture(autouse=True)
def _allowed(allowed_host: str) -> None:
    """Lets callbacks go to hooks.example.com."""


def test_the_time_to_use_an_approval_is_on_the_page(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    limited = make_delivery(headline="This", claim_within_seconds=600)

    shown = text_of(review(alices, limited, make_delivery(headline="Other")))

    assert shown.count("The agent has to use an approval within 10 min.") == 1


@pytest.mark.parametrize("name", MORE)
def test_what_the_page_does_not_show_whole_is_opened(
    alices: Person, make_delivery: MakeDelivery, name: str
) -> None:
    delivery, other = make_delivery(headline="This", **MORE[name]), make_delivery(headline="Other")

    shown = text_of(review(alices, delivery, other))
    result = text_of(send(alices, choose(delivery), choose(other), note="Fine by me"))

    assert "Reviewing 1 together" in shown
    assert "This" in shown.split("One by one", 1)[1]
    assert MESSAGES[NOT_HERE] in result
    assert "Fine by me" in result
    assert Response.objects.get().delivery == other


def test_a_new_version_is_read_on_its_page(alices: Person, make_delivery: MakeDelivery) -> None:
    first = make_delivery(headline="Send 10 letters")
    second = make_delivery(headline="Send 90,000 letters", supersedes=first.pk)

    result = text_of(send(alices, choose(second), by_hand=True))

    assert MESSAGES[NOT_HERE] in result
    assert not Response.objects.exists()


def test_the_page_names_provider_and_thread(alices: Person, make_delivery: MakeDelivery) -> None:
    shown = text_of(review(alices, make_delivery(provider="acme-models", thread="refunds/17")))

    assert "(acme-models)" in shown
    assert "Thread: refunds/17" in shown


@pytest.mark.parametrize("status", ["approved", "rejected"])
def test_a_file_to_download_is_opened_first(
    alices: Person, make_delivery: MakeDelivery, key: ApiKey, status: str
) -> None:
    blob = upload(key, b"every page", content_type="application/pdf", at=database_now()).blob
    delivery = make_delivery(key=key, details_json=json.dumps(page(file(str(blob.pk)))))

    send(alices, choose(delivery, status), by_hand=True)

    assert not Response.objects.exists()


def test_the_page_shows_what_the_agent_plans(alices: Person, make_delivery: MakeDelivery) -> None:
    plan = "I delete everything at noon."
    delivery = make_delivery(timeout_seconds=600, assumption=plan)

    shown = text_of(review(alices, delivery))
    send(alices, choose(delivery))

    assert plan in shown
    assert Response.objects.get().place == "bulk"


def test_the_audit_and_the_page_say_that_several_were_answered_together(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='"All of it"')
    result = send(alices, choose(delivery), follow=False)
    where = "together with others; everything was in sight"

    assert f"Answered {where}." in text_of(alices.see(delivery))
    assert where in text_of(alices.get("/audit/"))
    alices.client.post(f"{result['Location']}undo")
    assert AuditEvent.objects.filter(event="delivery.answered").count() == 1
