"""Draws pictures, and makes files that look like pictures."""

from __future__ import annotations

import random
import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image, PngImagePlugin

SVG = (
    b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
)
HTML = b"<!doctype html><script>alert(1)</script>"


def drawn(
    format: str = "PNG", size: tuple[int, int] = (40, 30), mode: str = "RGB", **options: Any
) -> bytes:
    """Returns a picture with a gradient, so that no two rows are equal."""
    gradient = Image.linear_gradient("L").resize(size)
    file = BytesIO()
    gradient.convert(mode).save(file, format, **options)
    return file.getvalue()


def animated(format: str = "GIF") -> bytes:
    """Returns three frames: black, then white, then black."""
    frames = [Image.new("L", (8, 8), shade) for shade in (0, 255, 0)]
    file = BytesIO()
    frames[0].save(file, format, save_all=True, append_images=frames[1:], duration=100)
    return file.getvalue()


def photograph() -> bytes:
    """Returns a JPEG that lies on its side and says where it was taken."""
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees
    exif[0x010E] = "taken-at-home"
    return drawn("JPEG", (60, 20), exif=exif, comment=b"a-comment", icc_profile=b"a-profile" * 20)


def chatty_png() -> bytes:
    """Returns a PNG with texts, and with HTML after its end."""
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", "a-comment")
    texts.add_text("Long", "z" * 500, zip=True)
    return drawn(pnginfo=texts, icc_profile=b"a-profile" * 20) + HTML


def png_of_size(width: int, height: int, *, body: bytes = b"") -> bytes:
    """Returns a PNG whose header claims that size."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    parts = [_chunk(b"IHDR", header), _chunk(b"IDAT", body), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def bomb() -> bytes:
    """Returns a PNG of 250 kB that would take 250 MB. The whole picture is one colour.

    A thousand rows are compressed once, and a full flush allows repeating them. Compressing 65,000
    rows takes a second.
    """
    rows = (b"\x00" + bytes(32_000 // 8)) * 1_000
    compressor = zlib.compressobj(9)
    first, block = (compressor.compress(rows) + compressor.flush(zlib.Z_FULL_FLUSH) for _ in "12")
    checksum = 1
    for _ in range(65):
        checksum = zlib.adler32(rows, checksum)
    end = b"\x03\x00" + checksum.to_bytes(4, "big")  # an empty last block
    return png_of_size(32_000, 65_000, body=first + block * 64 + end)


def webp_of_size(width: int, height: int) -> bytes:
    """Returns the header of an animated WebP with a canvas of that size."""
    canvas = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBP" + b"VP8X" + struct.pack("<I", 10) + b"\x02\x00\x00\x00" + canvas
    body += b"ANIM" + struct.pack("<I", 6) + bytes(6)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def gif_of_size(width: int, height: int, *, of: str = "canvas") -> bytes:
    """Returns a GIF whose canvas, or whose one frame, claims that size."""
    gif = bytearray(drawn("GIF", (20, 20)))
    place = 6 if of == "canvas" else gif.index(b"\x2c\x00\x00\x00\x00\x14\x00\x14") + 5
    gif[place : place + 4] = struct.pack("<HH", width, height)
    return bytes(gif)


def plain_webp_of_size(width: int, height: int, *, lossless: bool) -> bytes:
    """Returns a WebP that claims that size, without an extended header."""
    webp = bytearray(drawn("WEBP", lossless=lossless))
    if lossless:
        webp[21:25] = struct.pack("<I", (width - 1) | (height - 1) << 14)
    else:
        webp[26:30] = struct.pack("<HH", width, height)
    return bytes(webp)


def jpeg_with_scans(count: int) -> bytes:
    """Returns a progressive JPEG whose last scan is repeated."""
    jpeg = drawn("JPEG", progressive=True)
    last = jpeg.rindex(b"\xff\xda")
    return jpeg[:last] + jpeg[last:-2] * count + jpeg[-2:]


def stereo_photograph() -> bytes:
    """Returns a JPEG with a second picture after its end, as phones write such files."""
    file = BytesIO()
    first, second = (Image.new("RGB", (30, 20), shade) for shade in ("white", "black"))
    first.save(file, "MPO", save_all=True, append_images=[second])
    return file.getvalue()


def chunks(png: bytes) -> list[str]:
    """Returns the names of the chunks, and `rest` if anything follows the chunks."""
    names: list[str] = []
    place = 8
    while place < len(png) and names[-1:] != ["IEND"]:
        (length,) = struct.unpack(">I", png[place : place + 4])
        names.append(png[place + 4 : place + 8].decode("latin-1"))
        place += length + 12
    return [*names, "rest"] if place < len(png) else names


def noise(width: int, height: int) -> bytes:
    """Returns a PNG that cannot be compressed."""
    file = BytesIO()
    Image.frombytes("RGB", (width, height), random.Random(1).randbytes(width * height * 3)).save(  # noqa: S311 - a picture
        file, "PNG"
    )
    return file.getvalue()


def filled(mode: str, colour: Any, **options: Any) -> bytes:
    """Returns a small PNG of one colour."""
    file = BytesIO()
    Image.new("RGBA" if mode == "P" else mode, (4, 4), colour).convert(mode).save(
        file, "PNG", **options
    )
    return file.getvalue()


def opened(content: bytes) -> Image.Image:
    image = Image.open(BytesIO(content))
    image.load()
    return image


def _chunk(name: bytes, body: bytes) -> bytes:
    checksum = zlib.crc32(name + body)
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", checksum)
