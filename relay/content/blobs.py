"""Stores large files apart from the messages and artifacts that contain them.

A `raw` part above LARGE is stored as a row of its own, with `{"blob": id}` in its place. On the
wire the part has a signed `url`, which is valid for a day and needs no key. A caller that may read
the task may pass the link on to any program that fetches files (relay/api/files.py).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.urls import reverse

from relay.content.compact_json import dumps
from relay.models import Artifact, Blob, Task
from wake.models import File

Json = dict[str, Any]

LARGE = 64 * 1024
ROWS_AT_ONCE = 200  # rows in one statement
GOOD_FOR = timedelta(days=1)
SALT = "relay.tasks.blobs"  # never change this salt: links in use depend on it
# In a link, this precedes the id of an artifact. Ids of files are UUIDs.
ARTIFACT = "artifact "


def store_large(task: Task, parts: Iterable[Json], at: datetime) -> list[Json]:
    """Returns the parts in the form that a row stores. Runs inside the transaction that writes the
    row."""
    (stored,) = store_all_large(task.pk, [parts], at)
    return stored


def store_all_large(
    task_id: UUID, lists: Iterable[Iterable[Json]], at: datetime
) -> list[list[Json]]:
    """Works like `store_large` for several lists of parts, in one statement."""
    new: list[Blob] = []
    stored = [[_stored(task_id, part, new, at=at) for part in parts] for parts in lists]
    if new:
        Blob.objects.bulk_create(new, batch_size=ROWS_AT_ONCE)
    return stored


def has_large(parts: Iterable[Json]) -> bool:
    """Returns whether any of these parts is stored as a row of its own."""
    return any("raw" in part and size_of(part) > LARGE for part in parts)


def with_urls(parts: Iterable[Json]) -> list[Json]:
    """Returns the parts in the form that is sent, with links in place of large files."""
    return [_with_url(part) for part in parts]


def url_of(blob_id: UUID | str) -> str:
    """Returns an absolute URL. The URL is different every second."""
    token = signing.dumps(str(blob_id), salt=SALT)
    return settings.WAKE_ORIGIN + reverse("blob", kwargs={"token": token})


def url_of_artifact(artifact: Artifact) -> str:
    """Returns the absolute URL of an artifact that did not fit into an answer."""
    return url_of(f"{ARTIFACT}{artifact.pk}")


def file_of_link(token: str) -> File | None:
    """Returns the file of a link, or None if the link is too old or forged, or the file was erased.
    Raises encryption.Unreadable."""
    try:
        pk: str = signing.loads(token, salt=SALT, max_age=GOOD_FOR)
    except signing.BadSignature:
        return None
    if pk.startswith(ARTIFACT):
        rows = Artifact.objects.filter(task__erased_at=None)
        artifact = rows.filter(pk=pk.removeprefix(ARTIFACT)).first()
        return _of_artifact(artifact) if artifact else None
    blob = Blob.objects.filter(pk=pk).first()
    return _of_blob(blob) if blob else None


def file_of(task: Task, part: Json) -> File | None:
    """Returns the file in a part of this task, or None if it has no file."""
    if "raw" in part:
        content = base64.b64decode(part["raw"])
        return File(part.get("filename", ""), part.get("mediaType", ""), content)
    blob = Blob.objects.filter(task=task, pk=part["blob"]).first() if "blob" in part else None
    return _of_blob(blob) if blob else None


def size_of(part: Json) -> int:
    """Returns the size of the file in a part, in bytes."""
    raw: str = part.get("raw", "")
    size: int = part.get("size") or len(raw) * 3 // 4 - raw[-2:].count("=")
    return size


def bytes_of(parts: Iterable[Json]) -> int:
    """Returns the total size of these parts' files that are stored apart."""
    return sum(part["size"] for part in parts if "blob" in part)


def _of_artifact(artifact: Artifact) -> File:
    """Returns an artifact as JSON of A2A 1.0. Raises encryption.Unreadable."""
    content = {
        "artifactId": artifact.artifact_id,
        "name": artifact.name,
        "description": artifact.description,
        "parts": with_urls(artifact.parts),
        "metadata": artifact.metadata,
    }
    json = dumps({name: value for name, value in content.items() if value})
    return File(f"{artifact.artifact_id}.json", "application/json", json.encode())


def _of_blob(blob: Blob) -> File:
    """Returns the content of a stored file. Raises encryption.Unreadable."""
    return File(blob.filename, blob.media_type, bytes(blob.content))


def _stored(task_id: UUID, part: Json, new: list[Blob], *, at: datetime) -> Json:
    """Returns a part in the form that a row stores, and adds the row of a large file to `new`."""
    if not has_large([part]):
        return part
    content = base64.b64decode(part["raw"])
    blob = Blob(
        task_id=task_id,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        media_type=part.get("mediaType", ""),
        filename=part.get("filename", ""),
        content=content,
        created_at=at,
    )
    new.append(blob)
    rest = {name: value for name, value in part.items() if name != "raw"}
    return {"blob": str(blob.pk), "size": len(content)} | rest


def _with_url(part: Json) -> Json:
    if "blob" not in part:
        return part
    rest = {name: value for name, value in part.items() if name not in {"blob", "size"}}
    return {"url": url_of(part["blob"])} | rest
