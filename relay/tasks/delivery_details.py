"""Writes the details of a task's delivery: the agent's message, its artifacts, the request and the
conversation so far. Also writes its proposal, the only part that people edit
(docs/decisions/0015-a-task-is-shown-as-blocks.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from django.db.models import Max

from database.encrypted_columns import StoredBytes, length_of
from relay.content.blobs import Json
from relay.content.compact_json import dumps
from relay.models import Artifact, Event, Message, Task
from relay.tasks.blocks import (
    LONGEST,
    LONGEST_EARLIER,
    REST,
    artifact_blocks,
    blocks_of,
    fitting,
    is_file,
    message_blocks,
    sent_with,
    speaker,
    text_of,
    typed_blocks,
)

MAX_TURNS = 20
# In characters of JSON. People do not edit a longer proposal, but say in their answer what to
# change.
LONGEST_PROPOSAL = 60_000
# Read limit for artifacts and turns. Longer turns are not read, because the agent is locked
# meanwhile and a delivery shows only their beginning.
LONGEST_READ = 1_000_000
MAX_NAMED = 20
THERE = ", on the page of the task"


def read_turns(task: Task, message: Message | None) -> tuple[Message | None, list[Message]]:
    """Returns the request, which is the first message of the task. Also returns the newest other
    messages, oldest first, without the agent's current message. Turns that are too long to read
    have no parts (has_parts())."""
    rows = task.messages.annotate(size=StoredBytes("parts_json"))
    rows = rows.defer("parts_json", "metadata_json", "request_metadata_json")
    request = rows.order_by("pk").first()
    others = rows.exclude(pk__in=[one.pk for one in (message, request) if one])
    newest = list(others.order_by("-pk")[:MAX_TURNS])
    by_importance: list[Any] = [request, *newest] if request else newest
    short: list[int] = []
    size = 0
    for turn in by_importance:
        if size + turn.size <= LONGEST_READ:
            size += turn.size
            short.append(turn.pk)
    read = task.messages.in_bulk(short)
    turns = [read.get(turn.pk, turn) for turn in reversed(newest)]
    return (read.get(request.pk, request) if request else None), turns


def has_parts(turn: Message | Artifact) -> bool:
    return "parts_json" not in turn.get_deferred_fields()


def details_json(
    task: Task, message: Message | None, request: Message | None, newest: list[Message]
) -> str:
    """Returns the details. `message` is the agent's current message; `request` and `newest` come
    from read_turns()."""
    artifacts, others_by_name = _artifacts(task)
    since = [turn for turn in newest if message and turn.pk > message.pk]
    earlier = [turn for turn in newest if turn not in since]
    proposal = _proposal(task, message, artifacts)
    blocks = [
        *message_blocks(message, proposal=proposal),
        *_titled("{} has written since", since, task),
        *chain.from_iterable(artifact_blocks(artifact) for artifact in artifacts),
        *_further(others_by_name),
        *_titled("{} asked", [request] if request else [], task),
        *_titled("Earlier: {}", earlier, task, longest=LONGEST_EARLIER),
    ]
    shown = list(fitting(blocks))
    turns = [turn for turn in (message, request, *newest) if turn]
    details = {
        "wake_blocks": 1,
        "text": text_of(message.parts) if message else "",
        "proposal": proposal,
        "blocks": shown,
    }
    if left_out := [*_cut_short(shown), *_files(turns, artifacts), *_older(task, turns)]:
        details["left_out"] = left_out
    return dumps(details)


def _cut_short(blocks: list[Json]) -> list[str]:
    ends = any(str(block.get("text", "")).endswith(REST) for block in blocks)
    return [f"The end of a long text{THERE}"] if ends else []


def _files(turns: list[Message], artifacts: list[Artifact]) -> list[str]:
    senders: list[Message | Artifact] = [*turns, *artifacts]
    parts = chain.from_iterable(one.parts for one in senders if has_parts(one))
    names = [part.get("filename") or "A file" for part in parts if is_file(part)]
    named = [f"{name}{THERE}" for name in names[:MAX_NAMED]]
    more = len(names) - MAX_NAMED
    return [*named, f"{more:,} more files{THERE}"] if more > 0 else named


def _older(task: Task, turns: list[Message]) -> list[str]:
    """Says how many messages are too old to be shown. Makes one query, and none for a short
    task."""
    if len(turns) <= MAX_TURNS:
        return []
    count = task.messages.count() - len(turns)
    noun = "message" if count == 1 else "messages"
    return [f"{count:,} earlier {noun}{THERE}"] if count else []


def _artifacts(task: Task) -> tuple[list[Artifact], list[str]]:
    """Returns the first artifacts, up to the read limit of a delivery, and the names of the
    others."""
    first: list[int] = []
    names: list[str] = []
    size = 0
    rows = task.artifacts.annotate(size=length_of("parts_json")).defer("parts_json")
    for artifact in rows:
        size += artifact.size
        if size <= LONGEST_READ or not first:
            first.append(artifact.pk)
        else:
            names.append(artifact.name or artifact.artifact_id)
    return list(task.artifacts.filter(pk__in=first)), names


def _further(names: list[str]) -> list[Json]:
    """Returns the block of artifacts that only the page of the task shows."""
    if not names:
        return []
    title = f"{len(names)} more artifacts, on the page of the task"
    return blocks_of([{"text": ", ".join(names), "mediaType": "text/plain"}], title)


def _titled(
    title: str, turns: Iterable[Message], task: Task, *, longest: int = LONGEST
) -> Iterator[Json]:
    for turn in turns:
        parts = turn.parts if has_parts(turn) else [{"text": REST, "mediaType": "text/plain"}]
        yield from blocks_of(parts, title.format(speaker(turn, task)), longest=longest)
        if has_parts(turn):
            yield from sent_with(turn, longest=longest)


def _proposal(task: Task, message: Message | None, artifacts: list[Artifact]) -> Json | str:
    """Returns the content that a person may change. The content is the data that the agent shows.
    Without data, the content is the artifacts of this run, by name if there are several. Without
    artifacts, the content is the agent's text."""
    parts = message.parts if message else []
    for part in parts:
        own = typed_blocks(part)
        data = part.get("data") if own is None else own.get("proposal")
        if isinstance(data, dict | str) and len(dumps(data)) <= LONGEST_PROPOSAL:
            return data
    fresh = _artifacts_of_this_run(task)
    contents = {
        one.name or one.artifact_id: content
        for one in artifacts
        if one.pk in fresh and (content := _content(one))
    }
    if contents and len(dumps(contents)) <= LONGEST_PROPOSAL:
        (only, *more) = contents.values()
        return contents if more else only
    return text_of(parts)[:LONGEST_PROPOSAL]


def _artifacts_of_this_run(task: Task) -> set[Any]:
    """Returns the artifacts made since the last run began."""
    submissions = task.events.filter(kind=Event.Kind.STATUS, state=Task.State.SUBMITTED)
    since = submissions.aggregate(last=Max("generation"))["last"] or 0
    events = task.events.filter(artifact__isnull=False, generation__gt=since)
    return set(events.values_list("artifact", flat=True))


def _content(artifact: Artifact) -> Json | str:
    """Returns the text or the one object of an artifact; empty if it has only files."""
    data = [part["data"] for part in artifact.parts if isinstance(part.get("data"), dict)]
    return text_of(artifact.parts) or (data[0] if len(data) == 1 else "")
