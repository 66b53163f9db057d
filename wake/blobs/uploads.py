"""Stores what agents upload."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from accounts.agents import keys, quota
from accounts.audit import agent_actor, record
from accounts.models import ApiKey, Team
from database.clock import microseconds
from wake.blobs import pictures
from wake.models import UploadedBlob
from wake.models.blobs import MEDIA_TYPE

UNUSED_FOR = timedelta(hours=24)
# Clients send these types if they do not know the type of the file, or if they wrap it in a form.
OF_FORMS = {"application/x-www-form-urlencoded", "multipart/form-data"}


class MediaTypeRefused(Exception):
    """The Content-Type of an upload is not one that is stored; the message says what to send."""


class StorageFull(Exception):
    """The files of the team fill its whole storage."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """Holds the blob, until when it is stored without a delivery, whether an earlier request stored
    it, and the key's remaining quota (None if no quota was spent)."""

    blob: UploadedBlob
    expires_at: datetime
    replayed: bool = False
    allowance: quota.Allowance | None = None


def upload(
    key: ApiKey, content: bytes, *, content_type: str, address: str = "", at: datetime
) -> Uploaded:
    """Stores a file of the key's agent. The same file again returns the same blob. Raises
    MediaTypeRefused, pictures.NotShowable, pictures.TooManyPictures, StorageFull,
    quota.AgentPaused, quota.QuotaSpent or quota.KeyEnded; nothing was stored or spent then."""
    media_type = _media_type(content_type)
    key = keys.look_up_again(key, at=at)
    if key.agent.paused_at is not None:
        raise quota.AgentPaused(quota.AgentPaused.__doc__)
    blob = _blob(key, content, is_picture=media_type.startswith("image/"), at=at)
    if earlier := _again(blob):
        return Uploaded(earlier, at + UNUSED_FOR, replayed=True)
    try:
        if blob.is_picture:
            media_type, content = _rewrite(blob, key, content, at=at)
        blob.media_type, blob.content = media_type, content
        blob.size, blob.sha256 = len(content), hashlib.sha256(content).hexdigest()
        return _store(blob, key=key, address=address, at=at)
    except quota.QuotaSpent:
        quota.record_refusal(key, address=address, at=at)
        raise


def _rewrite(blob: UploadedBlob, key: ApiKey, content: bytes, *, at: datetime) -> tuple[str, bytes]:
    """Returns the media type and the bytes to store. A key without quota is refused before the
    costly decoding."""
    now_us = microseconds(at)
    if not quota.allowance_of(key, now_us=now_us).remaining:
        raise quota.refusal(key, now_us=now_us)
    with pictures.place_in_queue():
        picture = pictures.rewritten(content)
    blob.width, blob.height = picture.width, picture.height
    blob.is_animated = picture.is_animated
    return picture.media_type, picture.content


@transaction.atomic
def _store(blob: UploadedBlob, *, key: ApiKey, address: str, at: datetime) -> Uploaded:
    """Locks the team, so that the free storage of the team is exact and a file is stored only once.
    Then locks the key."""
    Team.objects.select_for_update(no_key=True).only("pk").get(pk=blob.team_id)
    if earlier := _again(blob):
        return Uploaded(earlier, at + UNUSED_FOR, replayed=True)
    stored = UploadedBlob.objects.bytes_by_team([blob.team_id]).get(blob.team_id, 0)
    if stored + blob.size > settings.WAKE_MAX_TEAM_BLOB_BYTES:
        raise StorageFull(
            f"The files of this team hold {stored:,} bytes, and may hold "
            f"{settings.WAKE_MAX_TEAM_BLOB_BYTES:,}. Nothing was stored. Files go when the content "
            "of their deliveries is erased: tell the people of the team."
        )
    allowance = quota.spend(key, now_us=microseconds(at))
    blob.save(force_insert=True)
    record(
        "blob.uploaded",
        by=agent_actor(key.agent, address),
        of=blob,
        team=blob.team_id,
        at=at,
        key=key.hint,
        media_type=blob.media_type,
        size=blob.size,
        sha256=blob.sha256,
    )
    return Uploaded(blob, at + UNUSED_FOR, allowance=allowance)


def _again(blob: UploadedBlob) -> UploadedBlob | None:
    """Returns the blob of an earlier upload of the same file, and extends its time by a day."""
    mine = UploadedBlob.objects.of_agent(blob.agent, blob.mode)
    same = mine.filter(uploaded_sha256=blob.uploaded_sha256, is_picture=blob.is_picture)
    is_there = same.update(expires_at=blob.expires_at)
    return same.without_content().get() if is_there else None


def _blob(key: ApiKey, content: bytes, *, is_picture: bool, at: datetime) -> UploadedBlob:
    return UploadedBlob(
        id=uuid.uuid4(),
        team_id=key.agent.team_id,
        agent=key.agent,
        mode=key.mode,
        uploaded_sha256=hashlib.sha256(content).hexdigest(),
        is_picture=is_picture,
        created_at=at,
        expires_at=at + UNUSED_FOR,
    )


def _media_type(content_type: str) -> str:
    """Returns the type without its parameters. Raises MediaTypeRefused."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in OF_FORMS or not MEDIA_TYPE.fullmatch(media_type):
        raise MediaTypeRefused(
            "Send the bytes of the file as the body, and its media type as Content-Type, such as "
            "image/png or application/pdf; application/octet-stream if it is not known."
        )
    if media_type.startswith("image/") and media_type not in pictures.MEDIA_TYPES:
        raise MediaTypeRefused(
            "A picture is a PNG, JPEG, WebP or GIF. An SVG is a document that may run scripts: "
            "send it as a PNG. Any other file is sent as application/octet-stream, to be "
            "downloaded."
        )
    return media_type
