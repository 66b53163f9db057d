"""Keeps large files apart from the messages and artifacts that they came in, and serves them.

A `raw` part above LARGE is stored as a row of its own, and `{"blob": id}` stands in its place; on
the wire that is a `url`, signed and good for a day, which asks for no key: whoever could read the
task may hand it on to whatever fetches files.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from relay.models import Blob, Task

Json = dict[str, Any]

LARGE = 64 * 1024
GOOD_FOR = timedelta(days=1)
SALT = "relay.blobs"
# RFC 9110, 8.3.1, without parameters.
MEDIA_TYPE = re.compile(r"[\w.+-]{1,63}/[\w.+-]{1,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class File:
    filename: str
    media_type: str
    content: bytes


def store_large(task: Task, parts: Iterable[Json], at: datetime) -> list[Json]:
    """The parts as they are kept in a row. Inside the transaction that writes it."""
    return [_kept(task, part, at=at) for part in parts]


def with_urls(parts: Iterable[Json]) -> list[Json]:
    """The parts as they leave."""
    return [_linked(part) for part in parts]


def url_of(blob_id: UUID | str) -> str:
    """Absolute, and another one every second."""
    token = signing.dumps(str(blob_id), salt=SALT)
    return settings.WAKE_ORIGIN + reverse("blob", kwargs={"token": token})


@require_safe
@never_cache
def show(request: HttpRequest, token: str) -> HttpResponse:
    """A download that no browser runs. What is too old, forged or erased is not there."""
    try:
        pk = signing.loads(token, salt=SALT, max_age=GOOD_FOR)
    except signing.BadSignature:
        return _nothing_here()
    blob = Blob.objects.filter(pk=pk).first()
    return download(_of_blob(blob)) if blob else _nothing_here()


def download(file: File) -> HttpResponse:
    """With nothing that a browser would run, whatever it is."""
    is_known = MEDIA_TYPE.fullmatch(file.media_type)
    name = filename_of(file)
    return HttpResponse(
        file.content,
        content_type=file.media_type if is_known else "application/octet-stream",
        headers={
            "Content-Disposition": content_disposition_header(True, name) or "attachment",  # noqa: FBT003 - Django's
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
        },
    )


def filename_of(file: File) -> str:
    """The last part of what it was called, in characters that print: whoever saves it needs no
    path, and a header has no line breaks."""
    last = re.split(r"[/\\]", file.filename)[-1]
    name = "".join(letter for letter in last if letter.isprintable())
    return name if name.strip(". ") else "file"


def file_of(task: Task, part: Json) -> File | None:
    """What was sent of a part of this task, where it is a file that was sent."""
    if "raw" in part:
        content = base64.b64decode(part["raw"])
        return File(part.get("filename", ""), part.get("mediaType", ""), content)
    blob = Blob.objects.filter(task=task, pk=part["blob"]).first() if "blob" in part else None
    return _of_blob(blob) if blob else None


def size_of(part: Json) -> int:
    """Of a file that was sent, in bytes."""
    raw: str = part.get("raw", "")
    size: int = part.get("size") or len(raw) * 3 // 4 - raw[-2:].count("=")
    return size


def _of_blob(blob: Blob) -> File:
    """Raises encryption.Unreadable."""
    return File(blob.filename, blob.media_type, bytes(blob.content))


def _kept(task: Task, part: Json, *, at: datetime) -> Json:
    if "raw" not in part or size_of(part) <= LARGE:
        return part
    content = base64.b64decode(part["raw"])
    blob = Blob.objects.create(
        task=task,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        media_type=part.get("mediaType", ""),
        filename=part.get("filename", ""),
        content=content,
        created_at=at,
    )
    rest = {name: value for name, value in part.items() if name != "raw"}
    return {"blob": str(blob.pk), "size": len(content)} | rest


def _linked(part: Json) -> Json:
    if "blob" not in part:
        return part
    rest = {name: value for name, value in part.items() if name not in {"blob", "size"}}
    return {"url": url_of(part["blob"])} | rest


def _nothing_here() -> HttpResponse:
    words = "There is nothing here, or the link to it is too old: read the task again."
    return HttpResponse(words, content_type="text/plain", status=HTTPStatus.NOT_FOUND)
