"""Decodes the pictures of agents and writes them again, so that a person's browser gets only pixels
(docs/decisions/0050-files-are-rows.md).

A file that is not a picture in one of four formats, or that has too many pixels, is refused by its
first bytes, before anything is decoded. The new file has no metadata and nothing behind its end. An
animation is reduced to its first frame.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

from PIL import Image, ImageOps

from database.turns import released

MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
# A phone's photograph has 12 million pixels, and a 4K screen 8 million.
MAX_PIXELS = 2**24
LONGEST_SIDE = 16_384
JPEG_QUALITY = 90
# This level is five times faster than zlib's default for the worst pictures, and its files are up
# to a fifth larger.
PNG_COMPRESSION = 2
# This many uploads may wait in this process while another picture is decoded. More waiting uploads
# would take every thread.
MAX_WAITING = 4
# How many pictures of opened pages are decoded at the same time, and how long other requests wait
# for a place. A page may have several small pictures.
MAX_SHOWN, SHOWN_WITHIN_SECONDS = 2, 1.0

# A progressive JPEG has about ten scans. Each one goes over all pixels again, and may need only
# twenty bytes.
MAX_SCANS = 100
START_OF_SCAN = b"\xff\xda"

# Our own limit takes effect before Pillow's, which only warns.
Image.MAX_IMAGE_PIXELS = None

_one_at_a_time = threading.Lock()
_places = threading.BoundedSemaphore(MAX_WAITING)
_shown_places = threading.BoundedSemaphore(MAX_SHOWN)


class NotShowable(Exception):
    """The picture cannot be shown; the message says why, for the agent and for people."""


class Damaged(NotShowable):
    """Reports that the decoder failed. `pixels` is how many pixels it may have decoded before."""

    def __init__(self, pixels: int) -> None:
        super().__init__("it is damaged or incomplete.")
        self.pixels = pixels


class TooManyPictures(Exception):
    """This process decodes as many pictures as it can for now."""


@dataclass(frozen=True, slots=True)
class _Header:
    """Holds the facts of the first bytes. `is_lossy` decides in which format the picture is written
    again."""

    format: Literal["PNG", "JPEG", "WEBP", "GIF"]
    is_lossy: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """Holds a picture that was written again: only its pixels."""

    media_type: str
    width: int
    height: int
    is_animated: bool
    content: bytes


@contextmanager
def place_in_queue() -> Iterator[None]:
    """Holds one of the few places for uploads. Raises TooManyPictures if none is free."""
    if not _places.acquire(blocking=False):
        raise TooManyPictures(TooManyPictures.__doc__)
    try:
        yield
    finally:
        _places.release()


@contextmanager
def place_to_show() -> Iterator[None]:
    """Holds one of the places for pictures of opened pages, after a short wait if necessary. Raises
    TooManyPictures."""
    if not (_shown_places.acquire(blocking=False) or _waited_for_place()):
        raise TooManyPictures(TooManyPictures.__doc__)
    try:
        yield
    finally:
        _shown_places.release()


def _waited_for_place() -> bool:
    with released():
        return _shown_places.acquire(timeout=SHOWN_WITHIN_SECONDS)


@contextmanager
def _alone() -> Iterator[None]:
    """Waits until no other picture is decoded. A picture at the limit takes 100 MB."""
    if not _one_at_a_time.acquire(blocking=False):
        with released():
            _one_at_a_time.acquire()
    try:
        yield
    finally:
        _one_at_a_time.release()


def rewritten(content: bytes, *, most_pixels: int = MAX_PIXELS) -> Picture:
    """Returns the picture without metadata, as a PNG or a JPEG. Raises NotShowable."""
    header = _header(content)
    pixels = 0
    with _alone():
        try:
            with Image.open(BytesIO(content), formats=[header.format]) as image:
                _check_size(*image.size, most_pixels)
                pixels = image.width * image.height
                return _rewritten(image, header)
        except NotShowable:
            raise
        except Exception as error:  # decoders raise all kinds of errors on hostile bytes
            raise Damaged(pixels) from error


def _header(content: bytes) -> _Header:
    """Returns the format, which the first bytes show. Raises NotShowable."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return _Header("PNG")
    if content.startswith(b"\xff\xd8\xff"):
        if content.count(START_OF_SCAN) > MAX_SCANS:
            raise NotShowable(f"it has more than {MAX_SCANS} scans.")
        return _Header("JPEG", is_lossy=True)
    if content.startswith((b"GIF87a", b"GIF89a")):
        return _Header("GIF")
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        _check_webp_canvas(content)
        # A lossless picture, even in an extended file, is a chunk of its own kind (RFC 9649, 2.6).
        return _Header("WEBP", is_lossy=b"VP8L" not in content)
    raise NotShowable("it is not a PNG, JPEG, WebP or GIF.")


def _check_webp_canvas(content: bytes) -> None:
    """Checks the size in the first chunk, because the decoder allocates a canvas of this size when
    it opens the file (RFC 9649, 2.5 to 2.7)."""
    if len(content) < 30:
        return
    first, low = content[12:16], 0x3FFF
    if first == b"VP8X":
        width, height = _number(content[24:27]) + 1, _number(content[27:30]) + 1
    elif first == b"VP8L":
        bits = _number(content[21:25])
        width, height = (bits & low) + 1, (bits >> 14 & low) + 1
    else:
        width, height = _number(content[26:28]) & low, _number(content[28:30]) & low
    _check_size(width, height, MAX_PIXELS)


def _number(content: bytes) -> int:
    return int.from_bytes(content, "little")


def _check_size(width: int, height: int, most_pixels: int) -> None:
    if width * height > most_pixels or max(width, height) > LONGEST_SIDE:
        raise NotShowable(
            f"it has {width:,} x {height:,} pixels, and may have {most_pixels:,} in all and "
            f"{LONGEST_SIDE:,} on a side."
        )


def _rewritten(image: Image.Image, header: _Header) -> Picture:
    is_animated = bool(getattr(image, "is_animated", False)) and header.format != "JPEG"
    image.seek(0)
    image.load()
    upright = ImageOps.exif_transpose(image)
    pixels = _pixels(upright, is_lossy=header.is_lossy)
    pixels.info = {}  # otherwise the writers would copy a comment or a colour profile
    file = BytesIO()
    if pixels.mode in {"RGB", "L"} and header.is_lossy:
        pixels.save(file, "JPEG", quality=JPEG_QUALITY)
        media_type = "image/jpeg"
    else:
        pixels.save(file, "PNG", compress_level=PNG_COMPRESSION)
        media_type = "image/png"
    return Picture(media_type, *pixels.size, is_animated, file.getvalue())


def _pixels(image: Image.Image, *, is_lossy: bool) -> Image.Image:
    """Returns a copy in a mode that every browser shows."""
    if image.has_transparency_data:
        return image.convert("RGBA")
    if image.mode.startswith(("I", "F")):  # 16 bits and more, which `convert` would truncate
        return image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    is_kept = image.mode in ({"L", "RGB"} if is_lossy else {"1", "L", "P", "RGB"})
    return image.copy() if is_kept else image.convert("RGB")
