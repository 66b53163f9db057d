"""Uploads, deliveries and erasures of the same files at the same time."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from tests.fixtures.agent_client import AgentClient
from tests.stress.concurrency.threads import at_once, retried
from tests.wake.blobs.drawing import drawn
from tests.wake.blobs.showing import file, page
from wake.blobs.removal import remove_unused, remove_with
from wake.models import Attachment, UploadedBlob

REPORT = b"the same report"


def upload(caller: AgentClient, content: bytes = REPORT, kind: str = "text/plain") -> Any:
    return retried(lambda: caller.upload(content, kind))


def test_the_same_file_at_once_is_stored_once(caller: AgentClient) -> None:
    for content, kind in ((REPORT, "text/plain"), (drawn(), "image/png")):
        answers = at_once(*[lambda c=content, k=kind: upload(caller, c, k)] * 4)

        assert {answer.status_code for answer in answers} <= {201, 503}
        stored = [answer for answer in answers if answer.status_code == 201]
        assert len({answer.json()["blob_id"] for answer in stored}) == 1
        assert sum("Idempotency-Replayed" not in answer for answer in stored) == 1
    assert UploadedBlob.objects.count() == 2


def test_the_room_of_a_team_is_exact(
    caller: AgentClient, others: AgentClient, settings: Any
) -> None:
    settings.WAKE_MAX_TEAM_BLOB_BYTES = 300
    agents = [caller, others] * 5

    codes = at_once(
        *[
            lambda number=number, agent=agent: upload(agent, bytes([number]) * 100).status_code
            for number, agent in enumerate(agents)
        ]
    )

    assert Counter(codes) == {201: 3, 413: 7}


def test_a_delivery_keeps_a_blob_or_comes_too_late_for_it(caller: AgentClient) -> None:
    for number in range(5):
        pk = upload(caller, REPORT + bytes([number])).json()["blob_id"]
        later = timezone.now() + timedelta(hours=25)

        def deliver(pk: str = pk) -> Any:
            return retried(lambda: caller.post(caller.payload(details=page(file(pk)))))

        answer, _ = at_once(deliver, lambda at=later: remove_unused(at=at))  # type: ignore[misc]

        delivery_id = UUID(answer.json()["delivery_id"])
        is_there = UploadedBlob.objects.filter(pk=pk).exists()
        assert Attachment.objects.filter(delivery_id=delivery_id).exists() is is_there


def test_a_blob_that_is_delivered_while_it_is_erased_stays_whole(caller: AgentClient) -> None:
    for number in range(5):
        pk = upload(caller, REPORT + bytes([number])).json()["blob_id"]
        first = UUID(caller.deliver(details=page(file(pk))))

        def deliver(pk: str = pk) -> Any:
            return retried(lambda: caller.post(caller.payload(details=page(file(pk)))))

        def erase(first: UUID = first) -> None:
            with transaction.atomic():
                remove_with([first])

        answer, _ = at_once(deliver, erase)

        second = UUID(answer.json()["delivery_id"])
        is_there = UploadedBlob.objects.filter(pk=pk).exists()
        assert Attachment.objects.filter(delivery_id=second).exists() is is_there
        assert not Attachment.objects.filter(delivery_id=first).exists()
