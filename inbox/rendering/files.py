"""Renders `image` and `file` blocks. Pictures are re-encoded and come from our own origin. Files
are rows with a download."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from database.uuids import uuid_or_none
from inbox.rendering.blocks import others
from inbox.rendering.left_out import LeftOut
from inbox.rendering.render_cache import cached
from inbox.rendering.tree import quiet
from pages.characters.directions import isolated
from pages.characters.invisible import reveal_value
from pages.sizes import size
from wake.blobs import pictures
from wake.blobs.pictures import Damaged, NotShowable, Picture
from wake.blobs.references import may_have
from wake.models import UploadedBlob

IMAGE, FILE = "image", "file"
MAX_FILES = 50  # files on one page
# Limits the pixels of all pictures in the details of a delivery together, because opening the page
# decodes these pictures.
MAX_INLINE_PIXELS = pictures.MAX_PIXELS
MAX_CACHED_BYTES = 500_000
# The room for a picture, in pixels (static/css/details.css). Letters in a picture that is shrunk to
# less than a quarter cannot be read.
ROOM = (920, 544)
MAX_SHRUNK = 4
MAX_HEIGHT = 544  # in pixels, 34rem of static/css/details.css; the link opens the whole picture

# This precedes the base64 of a picture in a data URL.
_HEAD = re.compile(r"data:image/(?:png|jpe?g|gif|webp);base64", re.IGNORECASE | re.ASCII)
# Wrapped base64 has long lines. Words with blanks between them are text.
_BASE64 = re.compile(r"\s*+(?:[A-Za-z0-9+/]{40,}+\s++)*+[A-Za-z0-9+/]*+={0,2}\s*+", re.ASCII)
PICTURE = (
    '<figure class="picture"><a href="{0}"><img src="{0}" alt="{1}" width="{2}" height="{3}"'
    ' loading="lazy" decoding="async"></a>{4}</figure>'
)
CAPTION = '<p class="agent-text" dir="auto">{}</p>'
UNDER = '<figcaption>{}{}<small class="agent-text" dir="auto">{}</small></figcaption>'
ALT = "Alternative text: {}"
ROW = (
    '<p class="file"><a href="{}" download><bdi dir="auto">{}</bdi></a> {}'
    '<code class="file__hash">SHA-256 {}</code></p>'
)
MISSING = '<p>{}</p><p class="agent-text" dir="auto">{}</p>'
SHRUNK = "Shown smaller: it has {:,} × {:,} pixels. Open it to see it whole. "  # noqa: RUF001
SHRUNK_PICTURE = "A picture of {:,} × {:,} pixels, which is shown smaller"  # noqa: RUF001
FIRST_FRAME = "Only the first frame of this animation is shown. "
NOT_SHOWN = "This picture cannot be shown: {}"
NO_BLOB = "it was not uploaded by this agent, or is gone."
NO_PICTURE = "it was not uploaded as a picture."
TOO_MANY = "there are too many on this page."
NO_FILE = "This file is not there: it was not uploaded by this agent, or is gone."


@dataclass(frozen=True, slots=True)
class Files:
    """Holds the delivery for the addresses of pictures, and its blobs, without their content."""

    delivery_id: UUID
    blobs: Mapping[UUID, UploadedBlob]

    @property
    def key(self) -> str:
        """Returns the part of the cache key that identifies the delivery and its blobs. Rendered
        details depend on these and on the text of the details."""
        return ":".join(map(str, [self.delivery_id, *sorted(self.blobs)]))


class FileBlocks:
    """Counts the size of one page's pictures and files."""

    def __init__(self, files: Files, left_out: LeftOut) -> None:
        self.files = files
        self.left_out = left_out
        self.files_left = MAX_FILES
        self.pixels_left = MAX_INLINE_PIXELS

    def html(self, block: Any) -> SafeString | None:
        """Renders an `image` or a `file` block; returns None for any other or a malformed one."""
        match block:
            case {"type": "image", "alt": str(alt)} if alt.strip() and _has_source(block):
                return self._picture(block, alt)
            case {"type": "file", "blob": str(blob), "name": str(name)} if name.strip():
                return self._file(blob, reveal_value(name))
        return None

    def others(self, block: dict[str, Any]) -> dict[str, Any]:
        """Returns the members of a picture or file block that its picture or row does not show."""
        if block["type"] == FILE:
            shown = ["name", *(["blob"] if self._blob(block["blob"]) else [])]
            return others(block, *shown)
        has_blob = "blob" in block
        members = others(
            block,
            "alt",
            *(["caption"] if isinstance(block.get("caption"), str) else []),
            *(["blob"] if has_blob and self._blob(block["blob"]) else []),
        )
        # Without a blob, the data is the picture: it is shown, or the page says that it cannot be
        # shown.
        return without_base64(members, self.left_out if has_blob else LeftOut())

    def _picture(self, block: dict[str, Any], alt: str) -> SafeString:
        try:
            digest, width, height, is_animated = self._shown(block)
        except NotShowable as reason:
            self.left_out.file("A picture that cannot be shown")
            missing = format_html(MISSING, quiet(NOT_SHOWN.format(reason)), reveal_value(alt))
            return missing + _caption(block)
        if is_animated:
            self.left_out.file("An animation, except its first frame")
        url = reverse("picture", args=[self.files.delivery_id, digest])
        note = quiet(FIRST_FRAME) if is_animated else SafeString()
        if _is_shrunk(width, height):
            self.left_out.file(SHRUNK_PICTURE.format(width, height))
            note += quiet(SHRUNK.format(width, height))
        under = format_html(UNDER, note, _caption(block), ALT.format(reveal_value(alt)))
        shown_height = min(height, MAX_HEIGHT)
        shown_width = max(1, round(width * shown_height / height)) if height else width
        return format_html(PICTURE, url, reveal_value(alt), shown_width, shown_height, under)

    def _shown(self, block: dict[str, Any]) -> tuple[str, int, int, bool]:
        """Returns the picture's digest, its size, and whether it is animated. Raises
        NotShowable."""
        self.files_left -= 1
        if self.files_left < 0:
            raise NotShowable(TOO_MANY)
        if "blob" in block:
            blob = self._blob(block["blob"])
            if blob is None or not blob.is_picture:
                raise NotShowable(NO_PICTURE if blob else NO_BLOB)
            return blob.sha256, blob.width or 0, blob.height or 0, blob.is_animated
        content = decoded(block["data"])
        try:
            picture = inline_picture(content, most_pixels=self.pixels_left)
        except Damaged as damaged:
            self.pixels_left -= damaged.pixels
            raise
        self.pixels_left -= picture.width * picture.height
        return digest_of(content), picture.width, picture.height, picture.is_animated

    def _file(self, blob_id: str, name: str) -> SafeString:
        self.files_left -= 1
        blob = self._blob(blob_id)
        self.left_out.file(_to_download(name))
        if blob is None or self.files_left < 0:
            return format_html(MISSING, quiet(NO_FILE), name)
        url = reverse("file", args=[self.files.delivery_id, blob.pk])
        return format_html(
            ROW, url, name, quiet(f"{blob.media_type}, {size(blob.size)}"), blob.sha256
        )

    def _blob(self, text: str) -> UploadedBlob | None:
        blob_id = uuid_or_none(text)
        return self.files.blobs.get(blob_id) if blob_id else None


def shows_files(details_json: str | None) -> bool:
    """Returns whether the details may contain a picture or a file, without parsing them."""
    return any(may_have(details_json, "wake_blocks", kind) for kind in (IMAGE, FILE))


def inline_data(blocks: Iterable[Any] | None) -> Iterator[str]:
    """Yields the base64 texts of the pictures that are part of the delivery."""
    for block in blocks or ():
        match block:
            case {"type": "image", "data": str(data)} if "blob" not in block:
                yield data


def name_unseen(blocks: Iterable[Any] | None, left_out: LeftOut) -> None:
    """Names the files and pictures of blocks that are shown as raw text."""
    for block in blocks or ():
        match block:
            case {"type": "file", "name": str(name)}:
                left_out.file(_to_download(reveal_value(name)))
            case {"type": "image"}:
                left_out.file("Pictures, in the formatted view")


def _to_download(name: str) -> str:
    return f"{name}, a file to download"


def without_data(block: Any, left_out: LeftOut | None = None) -> Any:
    """Returns a malformed block without its base64, which no person reads."""
    is_image = isinstance(block, dict) and block.get("type") == IMAGE
    return without_base64(block, left_out or LeftOut()) if is_image else block


def without_base64(members: dict[str, Any], left_out: LeftOut) -> dict[str, Any]:
    """Returns the members without base64. Other text of `data` stays, because a person may have to
    read it."""
    data = members.get("data")
    if not isinstance(data, str):
        return members
    head, comma, base64_text = data.rpartition(",")
    if not _is_base64(base64_text):
        return members
    left_out.file("A picture as base64, in the raw view")
    if not (head or comma) or _HEAD.fullmatch(head):
        return {name: value for name, value in members.items() if name != "data"}
    return {**members, "data": f"{head}{comma}…"}


def text_length(data: str) -> int:
    """Returns how many characters of the data of a picture are shown as text."""
    head, _, base64_text = data.rpartition(",")
    return len(head) if _is_base64(base64_text) else len(data)


def _is_base64(text: str) -> bool:
    return bool(_BASE64.fullmatch(text))


def decoded(data: str) -> bytes:
    """Returns the bytes of a base64 text, which may be wrapped or a data URL. Raises
    NotShowable."""
    try:
        return base64.b64decode("".join(data.rpartition(",")[2].split()), validate=True)
    except (binascii.Error, ValueError):
        raise NotShowable("its data is not base64.") from None


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def inline_picture(content: bytes, *, most_pixels: int = MAX_INLINE_PIXELS) -> Picture:
    """Returns the picture in the form that browsers get. A small picture stays in memory, like
    rendered details. Raises NotShowable, and TooManyPictures if others take too long to decode."""

    def rewrite() -> Picture:
        with pictures.place_to_show():
            return pictures.rewritten(content, most_pixels=most_pixels)

    picture = cached(
        content,
        asked_for="picture",
        make=rewrite,
        may_keep=lambda picture: len(picture.content) <= MAX_CACHED_BYTES,
    )
    if picture.width * picture.height > most_pixels:
        raise NotShowable(TOO_MANY)
    return picture


def _is_shrunk(width: int, height: int) -> bool:
    return width > MAX_SHRUNK * ROOM[0] or height > MAX_SHRUNK * ROOM[1]


def _has_source(block: dict[str, Any]) -> bool:
    return isinstance(block.get("blob", block.get("data")), str)


def _caption(block: dict[str, Any]) -> SafeString:
    text = block.get("caption")
    return (
        format_html(CAPTION, isolated(reveal_value(text)))
        if isinstance(text, str) and text
        else SafeString()
    )
