"""Shows messages and artifacts of a task as typed blocks (docs/protocol.md, Typed blocks), in the
details of a delivery and on the pages of the task.

A choice or a field asks for an answer only in the agent's current message. A choice or a field from
a caller, or from an earlier turn, is shown as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from relay.content.blobs import Json, size_of
from relay.content.compact_json import dumps
from relay.models import Artifact, Message, Task
from relay.protocol.dialects import FOR_PEOPLE

# Two lengths in characters: the longest text that a page can format quickly, and the length to
# which an earlier turn is cut.
LONGEST, LONGEST_EARLIER = 20_000, 2_000
# In bytes, for all blocks together, because a page does not show details above 200 kB.
LONGEST_TOGETHER = 120_000
REST = "The rest is on the page of the task."
REST_IN_FILE = "The rest is in the file below."
EMPTY = "No content."
MARKDOWN = {"", "text/markdown"}
METADATA, BESIDE = "Metadata", "Sent beside the blocks"
BESIDE_MESSAGE = "Metadata of the request"
# The members of a part that are its content.
CONTENT = {"text", "data", "url", "raw", "blob", "size"}
# Media types that add nothing to the kind of the part.
USUAL_TYPES = {"text": {"text/plain", "text/markdown"}, "data": {"application/json"}}


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


def message_blocks(message: Message | None, *, proposal: Any = None) -> list[Json]:
    """Returns the blocks of the agent's current message, with its own typed blocks unchanged.
    `proposal` is the proposal of the delivery; other proposals are shown among the blocks."""
    blocks: list[Json] = []
    for part in message.parts if message else []:
        own = typed_blocks(part)
        if own is None:
            blocks += blocks_of([part])
            continue
        rest = {name: one for name, one in own.items() if name not in {"wake_blocks", "blocks"}}
        if rest.get("proposal") == proposal:
            rest.pop("proposal", None)
        blocks += [*own["blocks"], *_pairs(BESIDE, rest), *_about(part)]
    return [*blocks, *sent_with(message)] if message else blocks


def sent_with(message: Message, *, longest: int = LONGEST) -> list[Json]:
    """Returns the blocks of the data that came beside the parts of a message. The agent that runs
    the task gets them, too. An agent's additions for people are shown as fields of the delivery."""
    metadata = message.metadata
    if message.source == Message.Source.AGENT:
        metadata = {name: one for name, one in metadata.items() if name != FOR_PEOPLE}
    named = {
        "refers to tasks": message.reference_task_ids,
        "uses extensions": message.extensions,
    }
    return [
        *_pairs(METADATA, metadata, longest=longest),
        *_pairs(METADATA, {name: one for name, one in named.items() if one}, longest=longest),
        *_pairs(BESIDE_MESSAGE, message.request_metadata, longest=longest),
    ]


def typed_blocks(part: Json) -> Json | None:
    """Returns the data of a part if it is a page of typed blocks; otherwise None."""
    match part.get("data"):
        case {"wake_blocks": 1, "blocks": list()}:
            page: Json = part["data"]
            return page
    return None


def artifact_blocks(artifact: Artifact) -> list[Json]:
    """Returns the blocks of an artifact, its description first."""
    about = [_text(artifact.description)] if artifact.description else []
    blocks = [*about, *blocks_of(artifact.parts), *_pairs(METADATA, artifact.metadata)]
    return [{"title": artifact.name or artifact.artifact_id} | blocks[0], *blocks[1:]]


def blocks_of(
    parts: Iterable[Json], title: str = "", *, longest: int = LONGEST, rest: str = REST
) -> list[Json]:
    """Returns one block for each part, and one for data that came with a part. The first block has
    the title. `rest` is appended to a text that was cut."""
    blocks: list[Json] = []
    for part in parts:
        blocks += [_block(part, longest, rest), *_about(part, longest, rest)]
    blocks = blocks or [_text(EMPTY)]
    if title:
        blocks[0] = {"title": title} | blocks[0]
    return blocks


def fitting(blocks: Iterable[Json]) -> Iterator[Json]:
    """Returns the first blocks, up to the number that a page shows."""
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
    """Returns whether blocks_of() cuts this text or data."""
    text = dumps(part["data"]) if "data" in part else part.get("text", "")
    return len(text) > LONGEST


def is_file(part: Json) -> bool:
    """Returns whether the part is a file. A block shows only its name."""
    return part.keys().isdisjoint({"text", "data", "url"})


def _about(part: Json, longest: int = LONGEST, rest: str = REST) -> list[Json]:
    """Returns a block for those members of a part that the part's own block does not show."""
    shown = CONTENT | ({"filename", "mediaType"} if is_file(part) else set())
    shown |= {"filename"} if "url" in part else set()
    kind = next((kind for kind in USUAL_TYPES if kind in part), "")
    shown |= {"mediaType"} if part.get("mediaType") in USUAL_TYPES.get(kind, ()) else set()
    others = {name: one for name, one in part.items() if name not in shown}
    return _pairs(METADATA, others, longest=longest, rest=rest)


def _pairs(title: str, items: Json, *, longest: int = LONGEST, rest: str = REST) -> list[Json]:
    if not items:
        return []
    text = dumps(items)
    if len(text) > longest:
        return [{"title": title} | _text(_cut(text, longest, rest))]
    return [{"type": "kv", "title": title, "items": items}]


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
