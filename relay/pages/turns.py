"""Renders the messages and artifacts of a task for its pages, each in a frame of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from database.encrypted_columns import length_of
from inbox.rendering.details import Details, render
from relay.content.compact_json import dumps
from relay.models import Artifact, Message, Task
from relay.tasks.blocks import blocks_of, file_line, speaker
from wake.blobs.pictures import MEDIA_TYPES

MESSAGES, ARTIFACTS = "messages", "artifacts"
TURNS_A_PAGE = 20
ARTIFACTS_A_PAGE = 50
LONGEST_PAGE = 10_000_000  # characters of the content of artifacts


@dataclass(frozen=True, slots=True)
class TurnFile:
    """Shows a file by its label. `picture` is the URL of the picture that it is; empty for other
    files."""

    label: str
    url: str
    picture: str


@dataclass(frozen=True, slots=True)
class Turn:
    """Shows a message or an artifact. `frame` is the ID of its frame on the page."""

    title: str
    at: datetime
    details: Details | None
    files: list[TurnFile]
    frame: str
    about: str = ""


def turns_of(task: Task, *, before: int | None) -> tuple[list[Turn], int | None]:
    """Returns a page of the newest messages, oldest first, and where the page before it begins."""
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


def artifacts_of(task: Task, *, after: int) -> tuple[list[Turn], int | None]:
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
        for artifact in task.artifacts.filter(pk__in=ids)
    ]
    return turns, ids[-1] if len(ids) < len(sizes) else None


def parts_of(task: Task, kind: str, row: int) -> Sequence[dict[str, Any]]:
    """Returns the parts of one message or artifact of this task; none if it does not exist."""
    rows: Any = {MESSAGES: task.messages, ARTIFACTS: task.artifacts}.get(kind)
    owner = rows.filter(pk=row).first() if rows is not None else None
    return owner.parts if owner else []


def _turn(
    task: Task, kind: str, row: Message | Artifact, *, title: str, at: datetime, about: str = ""
) -> Turn:
    parts = list(enumerate(row.parts))
    files = [(number, part) for number, part in parts if part.keys() & {"raw", "blob"}]
    text_parts = [part for pair in parts if pair not in files for part in pair[1:]]
    page = {"wake_blocks": 1, "blocks": blocks_of(text_parts)}
    return Turn(
        title=title,
        at=at,
        details=render(dumps(page)) if text_parts else None,
        files=[_file(part, [task.pk, kind, row.pk, number]) for number, part in files],
        frame=f"{kind}-{row.pk}",
        about=about,
    )


def _file(part: dict[str, Any], address: list[Any]) -> TurnFile:
    is_picture = part.get("mediaType") in MEDIA_TYPES
    picture = reverse("task-picture", args=address) if is_picture else ""
    return TurnFile(file_line(part), reverse("task-file", args=address), picture)
