"""Files are content: encrypted at rest, and erased with the last delivery that has them."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts.models import Team, User
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person
from tests.types import Age, Answer
from tests.wake.blobs.drawing import drawn
from tests.wake.blobs.showing import file, image, inline, page
from tests.wake.retention.stored import tables_with
from wake.blobs.removal import remove_unused
from wake.models import Attachment, Retention, UploadedBlob
from wake.retention import erase_old

REPORT = b"the secret ingredient is saffron"


def uploaded(caller: AgentClient, content: bytes = REPORT, kind: str = "text/plain") -> str:
    return str(caller.upload(content, kind).json()["blob_id"])


def delivered(caller: AgentClient, answer: Answer, age: Age, *blobs: str, days: int = 40) -> str:
    delivery_id = caller.deliver(details=page(*map(file, blobs)))
    response = answer(delivery_id)
    connection.cursor().execute(
        "UPDATE wake_delivery SET activity_at = %s WHERE id = %s",
        [
            response.answered_at - timedelta(days=days),
            delivery_id if connection.vendor == "postgresql" else delivery_id.replace("-", ""),
        ],
    )
    return delivery_id


def test_files_are_not_stored_in_plain_text(
    encrypting: Any, caller: AgentClient, alice: User
) -> None:
    pk = uploaded(caller)
    delivery_id = caller.deliver(details=page(file(pk, "saffron.txt")))

    assert tables_with("saffron") == set()
    answer = Person(alice).get(f"/deliveries/{delivery_id}/files/{pk}")
    assert answer.content == REPORT
    assert 'filename="saffron.txt"' in answer["Content-Disposition"]


def test_pictures_are_not_stored_in_plain_text(
    encrypting: Any, caller: AgentClient, alice: User
) -> None:
    body = caller.upload(drawn(), "image/png").json()
    delivery_id = caller.deliver(details=page(image(body["blob_id"])))

    assert tables_with("IHDR") == set()
    answer = Person(alice).get(f"/deliveries/{delivery_id}/images/{body['sha256']}")
    assert answer.content.startswith(b"\x89PNG")


def test_a_file_whose_key_is_lost_is_an_outage(
    encrypting: Any, caller: AgentClient, alice: User
) -> None:
    pk = uploaded(caller)
    delivery_id = caller.deliver(details=page(file(pk)))
    encrypting.WAKE_ENCRYPTION_KEYS = ["another key, since the old one was rotated out"]

    assert Person(alice).get(f"/deliveries/{delivery_id}/files/{pk}").status_code == 503


def test_files_are_rewritten_with_a_new_key(encrypting: Any, caller: AgentClient) -> None:
    for number in range(6):  # these files need more than one batch
        uploaded(caller, REPORT + bytes([65 + number]))
    new = "a new key of thirty-two characters, at least"
    encrypting.WAKE_ENCRYPTION_KEYS = [new, *encrypting.WAKE_ENCRYPTION_KEYS]

    call_command("rotate_encryption", stdout=io.StringIO())

    encrypting.WAKE_ENCRYPTION_KEYS = [new]
    contents = {bytes(blob.content) for blob in UploadedBlob.objects.all()}
    assert contents == {REPORT + bytes([65 + number]) for number in range(6)}


def test_files_are_erased_with_their_delivery(
    caller: AgentClient, answer: Answer, age: Age, team: Team, alice: User
) -> None:
    Retention.objects.create(team=team, days=30)
    pk = uploaded(caller)
    delivery_id = delivered(caller, answer, age, pk)

    assert erase_old(at=timezone.now()) == 1

    assert not UploadedBlob.objects.exists()
    assert not Attachment.objects.exists()
    assert "wake_uploadedblob" not in tables_with("saffron")
    assert Person(alice).get(f"/deliveries/{delivery_id}/files/{pk}").status_code == 404


def test_a_file_stays_with_another_delivery(
    caller: AgentClient, answer: Answer, age: Age, team: Team
) -> None:
    Retention.objects.create(team=team, days=30)
    shared, own = uploaded(caller), uploaded(caller, b"own")
    delivered(caller, answer, age, shared, own)
    newer = delivered(caller, answer, age, shared, days=2)

    erase_old(at=timezone.now())

    assert [str(blob.pk) for blob in UploadedBlob.objects.all()] == [shared]
    assert [str(each.delivery_id) for each in Attachment.objects.all()] == [newer]


def test_a_file_that_was_uploaded_again_stays_for_its_day(
    caller: AgentClient, answer: Answer, age: Age, team: Team
) -> None:
    Retention.objects.create(team=team, days=30)
    pk = uploaded(caller)
    delivered(caller, answer, age, pk)
    assert uploaded(caller) == pk

    erase_old(at=timezone.now())

    assert UploadedBlob.objects.filter(pk=pk).exists()
    assert remove_unused(at=timezone.now() + timedelta(hours=25)) == 1


def test_a_file_that_was_uploaded_again_stays_with_its_delivery(caller: AgentClient) -> None:
    pk = uploaded(caller)
    caller.deliver(details=page(file(pk)))
    uploaded(caller)

    assert remove_unused(at=timezone.now() + timedelta(hours=25)) == 0
    assert UploadedBlob.objects.get().expires_at is None


def test_inline_pictures_are_erased_with_the_details(
    caller: AgentClient, answer: Answer, age: Age, team: Team, alice: User
) -> None:
    Retention.objects.create(team=team, days=30)
    delivery_id = caller.deliver(details=page(inline(drawn())))
    url = Person(alice).get(f"/deliveries/{delivery_id}/").content.decode().split('<img src="')[1]
    url = url.partition('"')[0]
    assert Person(alice).get(url).status_code == 200
    answer(delivery_id)
    connection.cursor().execute(
        "UPDATE wake_delivery SET activity_at = %s", [timezone.now() - timedelta(days=40)]
    )

    assert erase_old(at=timezone.now()) == 1

    assert Person(alice).get(url).status_code == 404
    assert Person(alice).client.get(url, headers={"If-None-Match": "*"}).status_code == 404


def test_the_database_keeps_a_blob_that_a_delivery_has(caller: AgentClient) -> None:
    caller.deliver(details=page(file(uploaded(caller))))

    with pytest.raises(IntegrityError), transaction.atomic():
        _remove_all()


def _remove_all() -> None:
    UploadedBlob.objects.all().delete()
    connection.check_constraints()
