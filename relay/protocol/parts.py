"""Translates the parts of messages and artifacts between the dialects of A2A and stored rows."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Any

from relay.content.blobs import Json, with_urls
from relay.protocol.fields import Fields, InvalidParams
from relay.protocol.versions import Version

# Each part is checked, stored and sent separately.
MAX_PARTS = 1_000
LONGEST_TYPE = 128
LONGEST_NAME = 255
CONTENT = ("text", "raw", "url", "data")
# The names of a file's content in 0.3, in earlier versions, and in drafts of 1.0.
FILE_CONTENT = {
    "bytes": "raw",
    "uri": "url",
    "url": "url",
    "fileWithBytes": "raw",
    "fileWithUri": "url",
}
# Before 1.0, a part has a kind under `kind` or, in older documents, under `type`.
KINDS = {"text": ("text",), "data": ("data",), "file": ("raw", "url")}
_urlsafe = str.maketrans("-_", "+/")


def read_parts(value: Any, path: str = "parts") -> list[Json]:
    """Reads one or more parts of any dialect and returns canonical ones; raises InvalidParams."""
    if not isinstance(value, list) or not value:
        raise InvalidParams(path, "Must be an array of at least one part.")
    if len(value) > MAX_PARTS:
        raise InvalidParams(path, f"Must have at most {MAX_PARTS} parts.")
    return [_read_part(Fields(part, f"{path}[{number}]")) for number, part in enumerate(value)]


def write_parts(parts: Iterable[Json], version: Version) -> list[Json]:
    return [part if version == "1.0" else _older_part(part) for part in with_urls(parts)]


def media_types(parts: Iterable[Json]) -> list[str]:
    """Returns the types that the parts name, and the default types of text and data. A file without
    a type may be anything."""
    unsaid = {"text": "text/plain", "data": "application/json"}
    types = (
        part.get("mediaType") or next((unsaid[kind] for kind in unsaid if kind in part), "")
        for part in parts
    )
    return [kind.partition(";")[0].strip().lower() for kind in types if kind]


def _read_part(part: Fields) -> Json:
    if part.get("file") is not None:
        file = part.inner("file")
        name, content = _content(file, FILE_CONTENT)
        media_type = _first(file, ("mimeType", "mediaType"), longest=LONGEST_TYPE)
        filename = _first(file, ("name", "filename"), longest=LONGEST_NAME)
    else:
        name, content = _content(part, {kind: kind for kind in CONTENT})
        media_type, filename = "", ""
    _check_kind(part, name)
    metadata = dict(part.object("metadata"))
    if name == "data" and metadata.get("data_part_compat") is True and isinstance(content, dict):
        # In 0.3 data parts can only be objects, so the SDKs wrap other JSON like this.
        content = content.get("value")
        del metadata["data_part_compat"]
    media_type_0_3 = metadata.get("mediaType")
    media_type = part.text("mediaType", longest=LONGEST_TYPE) or media_type
    if not media_type and isinstance(media_type_0_3, str):
        media_type = media_type_0_3[:LONGEST_TYPE]
    filename = part.text("filename", longest=LONGEST_NAME) or filename
    optional = {"mediaType": media_type, "filename": filename, "metadata": metadata}
    return {name: content} | {key: value for key, value in optional.items() if value}


def _check_kind(part: Fields, content: str) -> None:
    """Raises InvalidParams for an unknown kind of part, or if the kind contradicts the content,
    because a part must not be treated as something else."""
    for name in ("kind", "type"):
        kind = part.get(name)
        if kind is None:
            continue
        if not isinstance(kind, str) or kind not in KINDS:
            raise part.wrong(name, f"Must be one of {', '.join(KINDS)}.")
        if content not in KINDS[kind]:
            raise part.wrong(name, f"The content is not of the kind {kind}.")


def _first(given: Fields, names: Sequence[str], *, longest: int) -> str:
    """Returns the first of these members that is present, or an empty text."""
    return next((text for name in names if (text := given.text(name, longest=longest))), "")


def _content(part: Fields, names: dict[str, str]) -> tuple[str, Any]:
    """Returns the part's content and its canonical name. A null member counts as absent, unless
    null is the only data."""
    there = [name for name in names if part.get(name) is not None]
    if not there and part.has("data") and "data" in names:
        there = ["data"]
    if len(there) != 1:
        raise InvalidParams(part.path, f"Must have exactly one of {', '.join(names)}.")
    (name,) = there
    content = part.get(name)
    if names[name] != "data" and not isinstance(content, str):
        raise part.wrong(name, "Must be a string.")
    return names[name], _base64(part, name, content) if names[name] == "raw" else content


def _base64(part: Fields, name: str, text: str) -> str:
    """Returns standard, padded base64. ProtoJSON also allows the URL-safe alphabet and missing
    padding."""
    bare = text.translate(_urlsafe).rstrip("=")
    try:
        content = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise part.wrong(name, "Must be base64.") from None
    return base64.b64encode(content).decode()


def _older_part(part: Json) -> Json:
    """Writes a part of 0.3. The part's `kind` is repeated as `type` for older readers. Members of a
    text part that exist only in 1.0 keep their names, and readers of 0.3 ignore these members."""
    rest = {key: value for key, value in part.items() if key not in CONTENT}
    if "text" in part:
        return _both("text") | {"text": part["text"]} | rest
    if "data" in part:
        data = part["data"]
        if not isinstance(data, dict):
            data = {"value": data}
            rest["metadata"] = rest.get("metadata", {}) | {"data_part_compat": True}
        return _both("data") | {"data": data} | rest
    file = {"bytes": part["raw"]} if "raw" in part else {"uri": part["url"]}
    for name, older in (("mediaType", "mimeType"), ("filename", "name")):
        if name in rest:
            file[older] = rest.pop(name)
    return _both("file") | {"file": file} | rest


def _both(kind: str) -> Json:
    return {"kind": kind, "type": kind}
