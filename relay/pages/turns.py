"""Renders the messages and artifacts of a task for its pages, each in a frame of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from database.encrypted_columns import length_of
from inbox.rendering.details import RenderedDetails, render
from relay.content import blobs
from relay.content.compact_json import dumps
from relay.models import Artifact, Message, Task
from relay.tasks.blocks import REST_IN_FILE, blocks_of, file_line, is_cut_off, speaker
from wake.blobs.pictures import MEDIA_TYPES
from wake.models import File

MESSAGES, ARTIFACTS = "messages", "artifacts"
TURNS_A_PAGE = 20
ARTIFACTS_A_PAGE = 50
LONGEST_PAGE = 10_000_000  # characters of the artifacts on one page


@dataclass(frozen=True, slots=True)
class TurnFile:
    """Shows a file by its label. `picture` is the URL of a picture, and empty for other files."""

    label: str
    url: str
    picture: str


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """Shows a message or an artifact. `frame` is the ID of its frame on the page."""

    title: str
    at: datetime
    details: RenderedDetails | None
    files: list[TurnFile]
    frame: str
    about: str = ""


def turns_of(task: Task, *, before: int | None) -> tuple[list[ShownTurn], int | None]:
    """Returns a page of the newest messages, oldest first, and where the previous page begins."""
    rows = task.messages.order_by("-pk")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    newest = list(rows[: TURNS_A_PAGE + 1])
    messages = newest[:TURNS_A_PAGE]
    turns = [
        _turn(task, MESSAGES, message, title=speaker(message, task), at=message.created_at)
        for message in reversed(messages)
    ]
    return turns, messages[-1].pk if len(newest) > TURNS_A_PAGE else None


def artifacts_of(task: Task, *, after: int) -> tuple[list[ShownTurn], int | None]:
    """Returns a page of artifacts, oldest first, and where the next page begins."""
    rows = task.artifacts.filter(pk__gt=after)
    sizes = list(rows.values_list("pk", length_of("parts_json"))[: ARTIFACTS_A_PAGE + 1])
    ids: list[int] = []
    together = 0
    for pk, size in sizes[:ARTIFACTS_A_PAGE]:
        together += size
        if ids and together > LONGEST_PAGE:
            break
        ids.append(pk)
    turns = [
        _turn(
            task,
            ARTIFACTS,
            artifact,
            title=artifact.name or artifact.artifact_id,
            at=artifact.created_at,
            about=artifact.description,
        )
        for artifact in task.artifacts.filter(pk__in=ids).defer("metadata_json")
    ]
    return turns, ids[-1] if len(ids) < len(sizes) else None


def parts_of(task: Task, kind: str, row: int) -> Sequence[dict[str, Any]]:
    """Returns the parts of one message or artifact of this task; none if it does not exist."""
    rows: Any = {MESSAGES: task.messages, ARTIFACTS: task.artifacts}.get(kind)
    owner = rows.filter(pk=row).first() if rows is not None else None
    return owner.parts if owner else []


def file_of(task: Task, part: dict[str, Any]) -> File | None:
    """Returns the file in a part, or its text or data as a file, or None if it has none of
    these."""
    return _as_file(part) or blobs.file_of(task, part)


def _turn(
    task: Task, kind: str, row: Message | Artifact, *, title: str, at: datetime, about: str = ""
) -> ShownTurn:
    parts = list(enumerate(row.parts))
    files = [(number, part) for number, part in parts if _is_file(part) or is_cut_off(part)]
    text_parts = [part for _, part in parts if not _is_file(part)]
    page = {"wake_blocks": 1, "blocks": blocks_of(text_parts, rest=REST_IN_FILE)}
    return ShownTurn(
        title=title,
        at=at,
        details=render(dumps(page)) if text_parts else None,
        files=[_file(part, [task.pk, kind, row.pk, number]) for number, part in files],
        frame=f"{kind}-{row.pk}",
        about=about,
    )


def _is_file(part: dict[str, Any]) -> bool:
    return not part.keys().isdisjoint({"raw", "blob"})


def _as_file(part: dict[str, Any]) -> File | None:
    """Returns the text or data of a part as a file."""
    if "text" in part:
        return File("text.txt", "text/plain", part["text"].encode())
    if "data" in part:
        return File("data.json", "application/json", dumps(part["data"]).encode())
    return None


def _file(part: dict[str, Any], address: list[Any]) -> TurnFile:
    url = reverse("task-file", args=address)
    if whole := _as_file(part):
        name, size = whole.filename, len(whole.content)
        return TurnFile(file_line({"filename": name, "size": size}), url, "")
    is_picture = part.get("mediaType") in MEDIA_TYPES
    picture = reverse("task-picture", args=address) if is_picture else ""
    return TurnFile(file_line(part), url, picture)
