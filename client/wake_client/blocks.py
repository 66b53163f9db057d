"""Builds typed blocks, the parts of `details` that people see as tables, pictures, diffs, choices
and fields.

    details = blocks.page(
        blocks.markdown("Both **fit the plan**."),
        blocks.choice("Which price?", ["One price", blocks.option("B", "Per person")]),
        text="Two prices are possible.",
    )
    answer = wake.ask("Two prices are possible", "Choose one.", details=details)

The builders raise ValueError for content that the server would show as plain JSON.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from wake_client.answers import Blob
from wake_client.uploads import content_of, is_picture

Block = dict[str, Any]

MAX_OPTIONS, LONGEST_NAME = 12, 64
MAX_SERIES, MAX_POINTS = 6, 1_000
# In bytes. A delivery may have 256 KiB, and base64 adds a third.
MAX_INLINE_BYTES = 180_000
Scalar = str | int | float | bool | None


def page(
    *blocks: Block, text: str = "", proposal: Mapping[str, Any] | str | None = None
) -> dict[str, Any]:
    """Returns the details. `text` is for readers that do not know typed blocks. A person edits
    `proposal` if no block asks for a value."""
    names = [block["name"] for block in blocks if block["type"] in {"choice", "field"}]
    if len(set(names)) < len(names):
        raise ValueError("Give each choice and each field of a page a name of its own.")
    if names and proposal is not None:
        raise ValueError("A page with choices or fields has no proposal: they are the proposal.")
    details: dict[str, Any] = {"wake_blocks": 1, "blocks": list(blocks)}
    if text:
        details["text"] = text
    if proposal is not None:
        details["proposal"] = proposal
    return details


def markdown(text: str, *, title: str = "") -> Block:
    return _titled({"type": "markdown", "text": text}, title)


def text(text: str, *, title: str = "") -> Block:
    """Returns a block of plain text, which the page shows line by line."""
    return _titled({"type": "text", "text": text}, title)


def code(text: str, *, language: str = "", title: str = "") -> Block:
    block = {"type": "code", "text": text}
    return _titled({**block, "language": language} if language else block, title)


def diff(before: Any, after: Any, *, title: str = "") -> Block:
    """Returns the difference between two texts or values."""
    return _titled({"type": "diff", "before": before, "after": after}, title)


def table(columns: Sequence[str], rows: Sequence[Sequence[Scalar]], *, title: str = "") -> Block:
    cells = [list(row) for row in rows]
    return _titled({"type": "table", "columns": list(columns), "rows": cells}, title)


def chart(
    kind: Literal["line", "bar"],
    labels: Sequence[str | int | float],
    series: Mapping[str, Sequence[int | float | None]],
    *,
    unit: str = "",
    title: str = "",
) -> Block:
    """Returns a chart of up to six lines or colours of bars. Each has one value for each label. A
    value of None is a gap."""
    if not 1 <= len(series) <= MAX_SERIES or not 1 <= len(labels) * len(series) <= MAX_POINTS:
        raise ValueError(f"A chart has 1 to {MAX_SERIES} series and {MAX_POINTS:,} values at most.")
    if any(len(values) != len(labels) for values in series.values()):
        raise ValueError("Each series of a chart has one value a label.")
    lines = [{"name": name, "values": list(values)} for name, values in series.items()]
    block = {"type": "chart", "kind": kind, "labels": list(labels), "series": lines}
    return _titled({**block, "unit": unit} if unit else block, title)


def image(
    source: bytes | os.PathLike[str] | Blob, alt: str, *, caption: str = "", title: str = ""
) -> Block:
    """Returns a picture: the result of upload(), or a small file that is sent as part of the
    delivery. `alt` describes the picture for people who do not see it."""
    if not alt.strip():
        raise ValueError("A picture needs an alt text, which says what it shows.")
    block: Block = {"type": "image", "alt": alt}
    if isinstance(source, Blob):
        if source.width is None:
            raise ValueError(f"The server stored {source.media_type}, which is no picture.")
        block["blob"] = source.blob_id
    else:
        block["data"] = _inline(content_of(source))
    return _titled({**block, "caption": caption} if caption else block, title)


def file(blob: Blob, name: str, *, title: str = "") -> Block:
    """Returns a file that people download under this name. Call upload() first."""
    if not name.strip():
        raise ValueError("A file needs a name.")
    return _titled({"type": "file", "blob": blob.blob_id, "name": name}, title)


def pairs(items: Mapping[str, Any], *, title: str = "") -> Block:
    """Returns a block that lists names and their values."""
    return _titled({"type": "kv", "items": dict(items)}, title)


def json(value: Any, *, title: str = "") -> Block:
    return _titled({"type": "json", "value": value}, title)


def link(url: str, label: str = "", *, title: str = "") -> Block:
    if not url.startswith(("https://", "http://")):
        raise ValueError("A link begins with https:// or http://.")
    return _titled({"type": "link", "url": url, "label": label or url}, title)


def option(id: str, label: str = "", *, text: str = "", recommended: bool = False) -> Block:
    """Returns one option of a choice. The answer contains the id of the chosen option."""
    _check_name(id)
    label = label or id
    if not label.strip():
        raise ValueError("An option needs a label, which people read.")
    block: Block = {"id": id, "label": label}
    if text:
        block["text"] = text
    if recommended:
        block["recommended"] = True
    return block


def choice(
    label: str, options: Sequence[str | Block], *, name: str = "choice", multiple: bool = False
) -> Block:
    """Returns a question that people answer with a click. The label may be empty if the headline of
    the delivery is the question. The answer has the id of the chosen option under `name`. If the
    choice is `multiple`, the answer has the list of ids (null without a tick)."""
    _check_name(name)
    blocks = [option(each) if isinstance(each, str) else each for each in options]
    if not 1 <= len(blocks) <= MAX_OPTIONS or len({each["id"] for each in blocks}) < len(blocks):
        raise ValueError(f"A choice has 1 to {MAX_OPTIONS} options with different ids.")
    if not multiple and sum("recommended" in each for each in blocks) > 1:
        raise ValueError("Recommend one option, or make the choice multiple.")
    block: Block = {"type": "choice", "name": name, "options": blocks}
    if label:
        block["label"] = label
    return {**block, "multiple": True} if multiple else block


def field(
    name: str,
    value: Scalar = None,
    *,
    label: str = "",
    kind: Literal["text", "long", "number", "boolean"] = "text",
) -> Block:
    """Returns a value that the person may change."""
    _check_name(name)
    block: Block = {"type": "field", "name": name, "label": label or name, "kind": kind}
    return block if value is None else {**block, "value": value}


def _titled(block: Block, title: str) -> Block:
    return {**block, "title": title} if title else block


def _inline(content: bytes) -> str:
    if not is_picture(content):
        raise ValueError("A picture is a PNG, JPEG, WebP or GIF.")
    if len(content) > MAX_INLINE_BYTES:
        raise ValueError(
            f"A picture above {MAX_INLINE_BYTES:,} bytes does not fit into a delivery: upload() it."
        )
    return base64.b64encode(content).decode()


def _check_name(name: str) -> None:
    if not (0 < len(name) <= LONGEST_NAME and name.splitlines() == [name]):
        raise ValueError(f"A name or an id is one line of 1 to {LONGEST_NAME} characters.")
