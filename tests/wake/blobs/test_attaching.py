"""A delivery keeps the blobs that its blocks name. A delivery without blobs takes no additional
statement."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Agent
from tests.fixtures.agent_client import AgentClient
from tests.types import MakeDelivery
from tests.wake.blobs.drawing import drawn
from tests.wake.blobs.showing import file, image, inline, page
from wake.blobs import references
from wake.blobs.removal import remove_unused
from wake.models import Attachment, Delivery, UploadedBlob

SOON = timedelta(hours=25)


def uploaded(caller: AgentClient, content: bytes = b"%PDF", kind: str = "application/pdf") -> str:
    return str(caller.upload(content, kind).json()["blob_id"])


def attached(delivery_id: str) -> set[str]:
    ids = Attachment.objects.filter(delivery_id=UUID(delivery_id)).values_list("blob", flat=True)
    return {str(pk) for pk in ids}


def test_a_delivery_keeps_its_blobs(caller: AgentClient) -> None:
    picture, report = uploaded(caller, drawn(), "image/png"), uploaded(caller)
    unused = uploaded(caller, b"unused")

    delivery_id = caller.deliver(details=page(image(picture), file(report), file(report)))
    expiring = UploadedBlob.objects.filter(expires_at__isnull=False)
    assert [str(blob.pk) for blob in expiring] == [unused]
    count = remove_unused(at=timezone.now() + SOON)

    assert attached(delivery_id) == {picture, report}
    assert count == 1
    assert not UploadedBlob.objects.filter(pk=unused).exists()


def test_a_delivery_keeps_blobs_that_it_names_with_escapes(caller: AgentClient) -> None:
    report = uploaded(caller)
    body = json.dumps(caller.payload(details=page(file(report))))
    escaped = body.replace("wake_blocks", "wake\\u005fblocks").replace("blob", "bl\\u006fb")

    response = caller.post(escaped)

    assert attached(response.json()["delivery_id"]) == {report}


def test_an_unused_blob_stays_for_a_day(caller: AgentClient) -> None:
    pk = uploaded(caller)

    assert remove_unused(at=timezone.now() + timedelta(hours=23, minutes=59)) == 0
    assert UploadedBlob.objects.filter(pk=pk).exists()
    assert remove_unused(at=timezone.now() + timedelta(hours=24, minutes=1)) == 1
    assert not UploadedBlob.objects.exists()


def test_blobs_of_other_agents_and_modes_are_not_attached(
    caller: AgentClient, others: AgentClient, in_test_mode: AgentClient
) -> None:
    theirs, tried = uploaded(others), uploaded(in_test_mode)

    delivery_id = caller.deliver(details=page(file(theirs), file(tried), file("no id"), image("")))

    assert attached(delivery_id) == set()
    assert UploadedBlob.objects.filter(expires_at__isnull=True).count() == 0


def test_nothing_is_refused_because_of_its_pictures(caller: AgentClient) -> None:
    blocks: list[Any] = [
        {"type": "image", "alt": "x", "data": "no base64"},
        {"type": "image", "data": "", "alt": ""},
        {"type": "image", "blob": 7},
        {"type": "file", "blob": None, "name": []},
        {"blob": "x"},
        "blob",
        inline(b"<svg/>"),
    ]

    caller.deliver(details={"wake_blocks": 1, "blocks": blocks})
    caller.deliver(details={"wake_blocks": 2, "blocks": blocks})
    caller.deliver(details={"wake_blocks": 1, "blocks": {"blob": 1}})
    caller.deliver(details='{"wake_blocks": 1, "blob": ')


def test_a_blob_may_be_shown_by_several_deliveries(caller: AgentClient) -> None:
    pk = uploaded(caller)

    first = caller.deliver(details=page(file(pk)))
    second = caller.deliver(details=page(file(pk)), supersedes=first)

    assert attached(first) == attached(second) == {pk}


def test_a_replayed_delivery_attaches_nothing_again(caller: AgentClient) -> None:
    body = caller.payload(details=page(file(uploaded(caller))))
    headers = {"Idempotency-Key": "report-7"}

    first, again = caller.post(body, **headers), caller.post(body, **headers)

    assert first.json() == again.json()
    assert again["Idempotency-Replayed"] == "true"
    assert Attachment.objects.count() == 1


def test_deliveries_of_a_batch_keep_their_blobs(caller: AgentClient) -> None:
    pk = uploaded(caller)
    body = {"deliveries": [caller.payload(details=page(file(pk)))] * 2, "atomic": True}

    answer = caller.client.post(
        "/wake/v1/deliveries", json.dumps(body), "application/json", headers=caller.headers
    )

    ids = [result["body"]["delivery_id"] for result in answer.json()["results"]]
    assert [attached(each) for each in ids] == [{pk}, {pk}]


def test_a_delivery_that_is_refused_attaches_nothing(caller: AgentClient, settings: Any) -> None:
    settings.WAKE_QUOTA_LIVE = (60, 1)
    pk = uploaded(caller)

    assert caller.post(caller.payload(details=page(file(pk)))).status_code == 429
    assert not Attachment.objects.exists()
    assert UploadedBlob.objects.get().expires_at is not None


def test_a_delivery_has_a_limited_number_of_blobs() -> None:
    ids = [uuid4() for _ in range(references.MAX_ATTACHMENTS + 1)]

    named = references.blob_ids(json.dumps(page(*(file(str(id)) for id in ids))))

    assert named == ids[: references.MAX_ATTACHMENTS]


def test_a_delivery_without_blobs_costs_no_statement_more(
    caller: AgentClient, agent: Agent, make_delivery: MakeDelivery
) -> None:
    caller.deliver()  # so that the key is remembered and statements are compiled

    with CaptureQueriesContext(connection) as plain:
        caller.deliver()
    with CaptureQueriesContext(connection) as with_picture:
        caller.deliver(details=page(inline(drawn())))

    assert len(with_picture) == len(plain)
    assert len(plain) <= (1 if connection.vendor == "postgresql" else 8)
    assert Delivery.objects.count() == 3
