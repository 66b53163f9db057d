"""Renders `image` and `file` blocks: pictures from our own origin, written again, and rows of files
to download."""

from __future__ import annotations

import base64
import binascii
import hashlib
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
from pages.characters.invisible import reveal
from pages.sizes import size
from wake.blobs import pictures
from wake.blobs.pictures import Damaged, NotShowable, Picture
from wake.blobs.references import may_have
from wake.models import UploadedBlob

IMAGE, FILE = "image", "file"
MOST_FILES = 50  # of a page
# Of the pictures that came in the delivery itself, together: opening the page decodes them.
MOST_INLINE_PIXELS = pictures.MOST_PIXELS
MOST_CACHED_BYTES = 500_000
# The room for a picture, in pixels (static/css/details.css). Letters of one that is shrunk to less
# than a quarter cannot be read.
ROOM = (920, 544)
MOST_SHRUNK = 4
MAX_HEIGHT = 544  # in pixels, 34rem of static/css/details.css; the link opens all of it

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
    """Holds the delivery that pictures are addressed by, and its blobs, without their content."""

    delivery_id: UUID
    blobs: Mapping[UUID, UploadedBlob]

    @property
    def key(self) -> str:
        """Names what the rendered page depends on, beside the details."""
        return ":".join(map(str, [self.delivery_id, *sorted(self.blobs)]))


class FileBlocks:
    """Counts what the pictures and files of one page may take."""

    def __init__(self, files: Files, left_out: LeftOut) -> None:
        self.files = files
        self.left_out = left_out
        self.files_left = MOST_FILES
        self.pixels_left = MOST_INLINE_PIXELS

    def html(self, block: Any) -> SafeString | None:
        """Renders an `image` or a `file` block; returns None for any other or a malformed one."""
        match block:
            case {"type": "image", "alt": str(alt)} if alt.strip() and _has_source(block):
                return self._picture(block, alt)
            case {"type": "file", "blob": str(blob), "name": str(name)} if name.strip():
                return self._file(blob, reveal(name))
        return None

    def others(self, block: dict[str, Any]) -> dict[str, Any]:
        """Returns the members of such a block that its picture or row does not show."""
        if block["type"] == FILE:
            shown = ["name", *(["blob"] if self._blob(block["blob"]) else [])]
            return others(block, *shown)
        has_blob = "blob" in block
        is_shown = not has_blob or self._blob(block["blob"])
        members = others(
            block,
            "alt",
            *(["caption"] if isinstance(block.get("caption"), str) else []),
            *(["blob" if has_blob else "data"] if is_shown else []),
        )
        return without_base64(members, self.left_out)

    def _picture(self, block: dict[str, Any], alt: str) -> SafeString:
        try:
            digest, width, height, is_animated = self._shown(block)
        except NotShowable as reason:
            self.left_out.file("A picture that cannot be shown")
            missing = format_html(MISSING, quiet(NOT_SHOWN.format(reason)), reveal(alt))
            return missing + _caption(block)
        if is_animated:
            self.left_out.file("An animation, except its first frame")
        url = reverse("picture", args=[self.files.delivery_id, digest])
        note = quiet(FIRST_FRAME) if is_animated else SafeString()
        if _is_shrunk(width, height):
            self.left_out.file(SHRUNK_PICTURE.format(width, height))
            note += quiet(SHRUNK.format(width, height))
        under = format_html(UNDER, note, _caption(block), ALT.format(reveal(alt)))
        shown_height = min(height, MAX_HEIGHT)
        shown_width = max(1, round(width * shown_height / height)) if height else width
        return format_html(PICTURE, url, reveal(alt), shown_width, shown_height, under)

    def _shown(self, block: dict[str, Any]) -> tuple[str, int, int, bool]:
        """Returns the digest, the size and whether it is animated. Raises NotShowable."""
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
    """Returns whether there may be a picture or a file in the details, without reading them."""
    return any(may_have(details_json, "wake_blocks", kind) for kind in (IMAGE, FILE))


def inline_data(blocks: Iterable[Any] | None) -> Iterator[str]:
    """Yields the base64 texts of the pictures that came with the delivery itself."""
    for block in blocks or ():
        match block:
            case {"type": "image", "data": str(data)} if "blob" not in block:
                yield data


def name_unseen(blocks: Iterable[Any] | None, left_out: LeftOut) -> None:
    """Names the files and pictures of blocks that are shown as raw text."""
    for block in blocks or ():
        match block:
            case {"type": "file", "name": str(name)}:
                left_out.file(_to_download(reveal(name)))
            case {"type": "image"}:
                left_out.file("Pictures, in the formatted view")


def _to_download(name: str) -> str:
    return f"{name}, a file to download"


def without_data(block: Any, left_out: LeftOut | None = None) -> Any:
    """Returns a malformed block as it can be shown: no person reads base64."""
    is_image = isinstance(block, dict) and block.get("type") == IMAGE
    return without_base64(block, left_out or LeftOut()) if is_image else block


def without_base64(members: dict[str, Any], left_out: LeftOut) -> dict[str, Any]:
    if "data" not in members:
        return members
    left_out.file("A picture as base64, in the raw view")
    return {name: value for name, value in members.items() if name != "data"}


def decoded(data: str) -> bytes:
    """Returns the bytes of a base64 text, which may be wrapped, or a data URL. Raises
    NotShowable."""
    try:
        return base64.b64decode("".join(data.rpartition(",")[2].split()), validate=True)
    except (binascii.Error, ValueError):
        raise NotShowable("its data is not base64.") from None


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def inline_picture(content: bytes, *, most_pixels: int = MOST_INLINE_PIXELS) -> Picture:
    """Returns the picture as browsers get it; a small one is kept in memory, like rendered details.
    Raises NotShowable, and TooManyPictures if others are decoded for too long."""

    def rewrite() -> Picture:
        with pictures.place_to_show():
            return pictures.rewritten(content, most_pixels=most_pixels)

    picture = cached(
        content,
        asked_for="picture",
        make=rewrite,
        may_keep=lambda picture: len(picture.content) <= MOST_CACHED_BYTES,
    )
    if picture.width * picture.height > most_pixels:
        raise NotShowable(TOO_MANY)
    return picture


def _is_shrunk(width: int, height: int) -> bool:
    return width > MOST_SHRUNK * ROOM[0] or height > MOST_SHRUNK * ROOM[1]


def _has_source(block: dict[str, Any]) -> bool:
    return isinstance(block.get("blob", block.get("data")), str)


def _caption(block: dict[str, Any]) -> SafeString:
    text = block.get("caption")
    return format_html(CAPTION, reveal(text)) if isinstance(text, str) and text else SafeString()
