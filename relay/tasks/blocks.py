"""Shows messages and artifacts of a task as typed blocks (docs/protocol.md, Typed blocks), in the
details of a delivery and on the pages of the task.

Only the agent's current message may ask with blocks of its own. A choice or a field that a caller
sent, or that is in an earlier turn, is shown as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from relay.content.blobs import Json, size_of
from relay.content.compact_json import dumps
from relay.models import Artifact, Message, Task

# In characters: what a page can format quickly, and how much of an earlier turn it shows.
LONGEST, LONGEST_EARLIER = 20_000, 2_000
# In bytes, of all blocks: a page does not show details above 200 kB.
LONGEST_TOGETHER = 120_000
REST = "The rest is on the page of the task."
REST_IN_FILE = "The rest is in the file below."
EMPTY = "No content."
MARKDOWN = {"", "text/markdown"}


def speaker(message: Message, task: Task) -> str:
    """Returns the name under which people know the sender of a message."""
    match message.source:
        case Message.Source.CALLER:
            return message.by_name or "The caller"
        case Message.Source.AGENT:
            return task.agent.agent_id
        case Message.Source.OWNER:
            return message.by_name or "A member of the team"
    return message.by_name or "Wake"


def message_blocks(message: Message | None) -> list[Json]:
    """Returns the blocks of the agent's current message, with its own typed blocks as they are."""
    blocks: list[Json] = []
    for part in message.parts if message else []:
        own = typed_blocks(part)
        blocks += blocks_of([part]) if own is None else own["blocks"]
    return blocks


def typed_blocks(part: Json) -> Json | None:
    """Returns the data of a part that is a page of typed blocks, else None."""
    match part.get("data"):
        case {"wake_blocks": 1, "blocks": list()}:
            page: Json = part["data"]
            return page
    return None


def artifact_blocks(artifact: Artifact) -> list[Json]:
    """Returns the blocks of an artifact, its description first."""
    about = [_text(artifact.description)] if artifact.description else []
    blocks = [*about, *blocks_of(artifact.parts)]
    return [{"title": artifact.name or artifact.artifact_id} | blocks[0], *blocks[1:]]


def blocks_of(
    parts: Iterable[Json], title: str = "", *, longest: int = LONGEST, rest: str = REST
) -> list[Json]:
    """Returns one block for each part, the first with the title. `rest` ends a text that was cut
    off."""
    blocks = [_block(part, longest, rest) for part in parts] or [_text(EMPTY)]
    if title:
        blocks[0] = {"title": title} | blocks[0]
    return blocks


def fitting(blocks: Iterable[Json]) -> Iterator[Json]:
    """Returns the first blocks, as many as a page shows."""
    left = LONGEST_TOGETHER
    for block in blocks:
        left -= len(dumps(block).encode())
        if left < 0:
            yield _text(REST)
            return
        yield block


def text_of(parts: Iterable[Json]) -> str:
    return "\n\n".join(part["text"] for part in parts if "text" in part)


def file_line(part: Json) -> str:
    """Describes a file: `report.pdf, application/pdf, 120 kB`."""
    size = size_of(part)
    in_words = f"{size / 1000:,.0f} kB" if size >= 1000 else f"{size} bytes"
    words = [part.get("filename") or "A file", part.get("mediaType", ""), in_words]
    return ", ".join(word for word in words if word)


def is_cut_off(part: Json) -> bool:
    """Returns whether blocks_of() leaves out a part of this text or data."""
    text = dumps(part["data"]) if "data" in part else part.get("text", "")
    return len(text) > LONGEST


def _block(part: Json, longest: int, rest: str) -> Json:
    if "text" in part:
        kind = "markdown" if part.get("mediaType", "") in MARKDOWN else "text"
        return {"type": kind, "text": _cut(part["text"], longest, rest)}
    if "data" in part:
        return _data(part["data"], longest, rest)
    if "url" in part:
        return {"type": "link", "url": part["url"], "label": part.get("filename", "")}
    return _text(file_line(part))


def _data(value: Any, longest: int, rest: str) -> Json:
    text = dumps(value)
    if len(text) > longest:
        return _text(_cut(text, longest, rest))
    return {"type": "json", "value": value}


def _cut(text: str, longest: int, rest: str) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…\n\n{rest}"


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
