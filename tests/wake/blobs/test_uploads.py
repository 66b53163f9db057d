"""Agents upload each file once, within the quota of the key and the room of the team."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.agents import quota
from accounts.models import Agent, ApiKey, AuditEvent, Team
from tests.fixtures import wrapped
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.occupied import occupied
from tests.wake.blobs import drawing
from tests.wake.blobs.drawing import animated, drawn, opened
from wake.blobs import pictures
from wake.blobs.removal import remove_unused
from wake.models import UploadedBlob

PDF = b"%PDF-1.7 of a report"


def tokens_left(key: ApiKey) -> int:
    key.refresh_from_db()
    return quota.allowance_of(key, now_us=int(timezone.now().timestamp() * 1e6)).remaining


def test_a_file_is_stored_byte_for_byte(caller: AgentClient) -> None:
    answer = caller.upload(PDF, "application/pdf; charset=binary")

    body, row = answer.json(), UploadedBlob.objects.get()
    assert answer.status_code == 201
    assert body == {
        "blob_id": str(row.pk),
        "media_type": "application/pdf",
        "size": len(PDF),
        "sha256": hashlib.sha256(PDF).hexdigest(),
        "width": None,
        "height": None,
        "expires_at": body["expires_at"],
    }
    assert bytes(row.content) == PDF
    assert row.expires_at is not None
    assert timedelta(hours=23) < row.expires_at - timezone.now() <= timedelta(hours=24)
    assert body["expires_at"].endswith("Z")


def test_a_picture_is_stored_as_it_was_written_again(caller: AgentClient) -> None:
    sent = drawing.photograph()

    body, row = caller.upload(sent, "image/jpeg").json(), UploadedBlob.objects.get()

    assert (body["media_type"], body["width"], body["height"]) == ("image/jpeg", 20, 60)
    assert b"taken-at-home" not in bytes(row.content)
    assert body["sha256"] == hashlib.sha256(bytes(row.content)).hexdigest()
    assert body["size"] == len(row.content)
    assert opened(bytes(row.content)).size == (20, 60)


def test_the_bytes_decide_which_kind_of_picture_it_is(caller: AgentClient) -> None:
    body = caller.upload(drawn("JPEG"), "image/png").json()

    assert body["media_type"] == "image/jpeg"
    assert caller.upload(animated(), "image/gif").json()["media_type"] == "image/png"


@pytest.mark.parametrize(
    ("content", "content_type", "status", "code"),
    [
        pytest.param(drawing.SVG, "image/svg+xml", 415, "unsupported_media_type", id="svg"),
        pytest.param(drawn(), "image/tiff", 415, "unsupported_media_type", id="tiff"),
        pytest.param(drawn(), "", 415, "unsupported_media_type", id="no type"),
        pytest.param(drawn(), "png", 415, "unsupported_media_type", id="half a type"),
        pytest.param(
            drawn(),
            "application/x-www-form-urlencoded",
            415,
            "unsupported_media_type",
            id="what curl sends",
        ),
        pytest.param(
            b"--x\r\n\r\n--x--",
            "multipart/form-data; boundary=x",
            415,
            "unsupported_media_type",
            id="an envelope",
        ),
        pytest.param(drawing.SVG, "image/png", 422, "invalid_image", id="svg named png"),
        pytest.param(drawing.HTML, "image/png", 422, "invalid_image", id="html named png"),
        pytest.param(b"\x89", "image/png", 422, "invalid_image", id="one byte"),
        pytest.param(drawn()[:-30], "image/png", 422, "invalid_image", id="truncated"),
        pytest.param(drawing.bomb(), "image/png", 422, "invalid_image", id="bomb"),
        pytest.param(
            drawing.png_of_size(2**31 - 1, 2**31 - 1), "image/png", 422, "invalid_image", id="huge"
        ),
        pytest.param(b"", "application/pdf", 400, "malformed", id="empty"),
    ],
)
def test_what_is_refused_is_not_stored_and_spends_nothing(
    caller: AgentClient, content: bytes, content_type: str, status: int, code: str
) -> None:
    before = tokens_left(caller.key)

    answer = caller.upload(content, content_type)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer["Content-Type"] == "application/json"
    assert not UploadedBlob.objects.exists()
    assert tokens_left(caller.key) == before


def test_an_svg_may_be_a_file_to_download(caller: AgentClient) -> None:
    assert caller.upload(drawing.SVG, "application/octet-stream").status_code == 201


def test_a_file_above_the_limit_is_refused(caller: AgentClient, settings: Any) -> None:
    settings.WAKE_MAX_BLOB_BYTES = 100

    assert caller.upload(bytes(100), "text/csv").status_code == 201
    refused = caller.upload(bytes(101), "text/csv")

    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "body_too_large")


def test_the_same_file_again_is_the_same_blob(caller: AgentClient) -> None:
    first = caller.upload(drawn(), "image/png")
    before = tokens_left(caller.key)
    UploadedBlob.objects.update(expires_at=timezone.now() + timedelta(minutes=1))

    again = caller.upload(drawn(), "image/png")

    assert again.status_code == 201
    assert again["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert {**again.json(), "expires_at": ""} == {**first.json(), "expires_at": ""}
    assert tokens_left(caller.key) == before
    assert UploadedBlob.objects.get().expires_at > timezone.now() + timedelta(hours=23)  # type: ignore[operator]


def test_a_picture_may_be_uploaded_as_the_file_that_it_is(caller: AgentClient) -> None:
    sent = drawing.photograph()

    picture = caller.upload(sent, "image/jpeg").json()
    file = caller.upload(sent, "application/octet-stream").json()

    assert picture["blob_id"] != file["blob_id"]
    assert file["sha256"] == hashlib.sha256(sent).hexdigest()


def test_the_same_file_of_another_agent_or_mode_is_another_blob(
    caller: AgentClient, others: AgentClient, in_test_mode: AgentClient
) -> None:
    ids = {each.upload(PDF, "text/plain").json()["blob_id"] for each in (caller, others)}
    ids.add(in_test_mode.upload(PDF, "text/plain").json()["blob_id"])

    assert len(ids) == 3


def test_uploads_count_in_the_quota_of_deliveries(caller: AgentClient, settings: Any) -> None:
    settings.WAKE_QUOTA_LIVE = (60, 2)

    caller.deliver()
    second = caller.upload(PDF, "text/plain")
    third = caller.upload(PDF + b"!", "text/plain")

    assert second["X-RateLimit-Remaining"] == "0"
    assert (third.status_code, third.json()["error"]["code"]) == (429, "rate_limited")
    assert 0 < int(third["Retry-After"]) <= 60
    assert caller.post(caller.payload()).status_code == 429
    assert UploadedBlob.objects.count() == 1


def test_a_key_without_quota_has_nothing_decoded(caller: AgentClient, settings: Any) -> None:
    settings.WAKE_QUOTA_LIVE = (60, 1)
    caller.deliver()

    with wrapped.counted(pictures, "rewritten") as decoded:
        assert caller.upload(drawn(), "image/png").status_code == 429
    assert not decoded
    assert AuditEvent.objects.filter(event="key.slowed_down").count() == 1


def test_refused_uploads_are_limited_like_reads(caller: AgentClient, settings: Any) -> None:
    cache.clear()
    settings.WAKE_READS_PER_MINUTE = 3

    statuses = [caller.upload(b"?", "image/png").status_code for _ in range(5)]

    assert statuses[:3] == [422] * 3
    assert statuses[-1] == 429


def test_the_files_of_a_team_have_a_room(
    caller: AgentClient, others: AgentClient, settings: Any
) -> None:
    settings.WAKE_MAX_TEAM_BLOB_BYTES = 100
    caller.upload(bytes(60), "text/csv")
    before = tokens_left(others.key)

    refused = others.upload(bytes(41), "text/csv")

    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "storage_full")
    assert "60 bytes, and may hold 100" in refused.json()["error"]["message"]
    assert tokens_left(others.key) == before
    assert others.upload(bytes(40), "text/csv").status_code == 201


def test_other_teams_have_a_room_of_their_own(
    caller: AgentClient, agent: Agent, settings: Any, mallory: Any
) -> None:
    settings.WAKE_MAX_TEAM_BLOB_BYTES = 100
    caller.upload(bytes(100), "text/csv")
    agent.team = Team.objects.get(slug="other")
    agent.save()

    assert caller.upload(bytes(99), "text/csv").status_code == 201


def test_removed_files_leave_room(caller: AgentClient, settings: Any) -> None:
    settings.WAKE_MAX_TEAM_BLOB_BYTES = 100
    caller.upload(bytes(100), "text/csv")
    remove_unused(at=timezone.now() + timedelta(hours=25))

    assert caller.upload(bytes(99), "text/csv").status_code == 201


@pytest.mark.parametrize(
    ("model", "change", "status", "code"),
    [
        (Agent, {"paused_at": timezone.now()}, 403, "paused"),
        (ApiKey, {"revoked_at": timezone.now()}, 401, "unauthorized"),
    ],
)
def test_a_key_that_may_not_deliver_may_not_upload(
    caller: AgentClient, model: Any, change: dict[str, Any], status: int, code: str
) -> None:
    caller.deliver()  # so that this process remembers the key
    model.objects.filter(pk__in=[caller.key.pk, caller.key.agent_id]).update(**change)

    answer = caller.upload(PDF, "text/plain")

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert not UploadedBlob.objects.exists()


def test_no_upload_without_a_key(caller: AgentClient) -> None:
    caller.headers = {}

    assert caller.upload(PDF, "text/plain").status_code == 401


def test_too_many_pictures_at_once_are_asked_to_wait(caller: AgentClient) -> None:
    with occupied(pictures._places):
        answer = caller.upload(drawn(), "image/png")

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    assert int(answer["Retry-After"]) > 0
    assert caller.upload(PDF, "text/plain").status_code == 201


def test_an_upload_is_audited_without_its_content(caller: AgentClient) -> None:
    body = caller.upload(PDF, "text/plain").json()

    event = AuditEvent.objects.get(event="blob.uploaded")
    assert event.object_id == body["blob_id"]
    assert event.detail["size"] == len(PDF)
    assert event.actor_name == caller.agent_id


def test_an_upload_takes_few_statements_and_loads_no_content(caller: AgentClient) -> None:
    caller.upload(PDF, "text/plain")

    with CaptureQueriesContext(
        connection,
    ) as first:
        caller.upload(PDF + b"!", "text/plain")
    with CaptureQueriesContext(connection) as again:
        caller.upload(PDF, "text/plain")

    selects = [query["sql"] for query in [*first, *again] if query["sql"].startswith("SELECT")]
    assert len(first) <= 12
    assert len(again) <= 4
    assert not any('"content"' in sql for sql in selects)
