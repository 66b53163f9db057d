"""Pictures are decoded within limits and re-encoded, so that only pixels are left."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from PIL import Image

from tests.fixtures.occupied import occupied
from tests.wake.blobs import drawing
from tests.wake.blobs.drawing import animated, chunks, drawn, opened
from wake.blobs import pictures
from wake.blobs.pictures import MAX_PIXELS, NotShowable, TooManyPictures, rewritten

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("format", "options", "media_type"),
    [
        ("PNG", {}, "image/png"),
        ("JPEG", {}, "image/jpeg"),
        ("GIF", {}, "image/png"),
        ("WEBP", {"lossless": True}, "image/png"),
        ("WEBP", {}, "image/jpeg"),
    ],
)
def test_a_picture_is_written_again(format: str, options: dict[str, Any], media_type: str) -> None:
    picture = rewritten(drawn(format, **options))

    again = opened(picture.content)
    assert (picture.media_type, picture.width, picture.height) == (media_type, 40, 30)
    assert again.get_format_mimetype() == media_type  # type: ignore[attr-defined]
    assert again.size == (40, 30)
    assert abs(again.convert("L").getpixel((20, 15)) - 127) < 12  # type: ignore[operator]
    assert not picture.is_animated


@pytest.mark.parametrize(("lossless", "media_type"), [(False, "image/jpeg"), (True, "image/png")])
def test_metadata_does_not_change_the_format_of_a_webp(lossless: bool, media_type: str) -> None:
    """Metadata turns a WebP into an extended file. Wake used to store such a photograph as a PNG,
    which takes five times the room."""
    exif = Image.Exif()
    exif[0x010E] = "taken-at-home"
    sent = drawn("WEBP", exif=exif, lossless=lossless)
    assert b"VP8X" in sent

    assert rewritten(sent).media_type == media_type


def test_a_png_is_compressed_quickly() -> None:
    """A hostile picture at the limit took eight seconds of a core with zlib's usual level."""
    content = rewritten(drawn()).content

    level = content[content.index(b"IDAT") + 5] >> 6  # FLEVEL (RFC 1950, 2.2)

    assert level <= 1


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_kind_of_png_keeps_its_pixels(mode: str) -> None:
    picture = rewritten(drawn(mode=mode))

    assert abs(opened(picture.content).convert("L").getpixel((20, 3)) - 25) < 30  # type: ignore[operator]


def test_a_cmyk_photograph_becomes_rgb() -> None:
    assert opened(rewritten(drawn("JPEG", mode="CMYK")).content).mode == "RGB"


def test_sixteen_bits_are_not_cut_off() -> None:
    picture = rewritten(drawing.filled("I;16", 0x8000))

    assert opened(picture.content).getpixel((0, 0)) == 0x80


@pytest.mark.parametrize(("mode", "options"), [("RGBA", {}), ("P", {"transparency": 0})])
def test_what_is_transparent_stays_so(mode: str, options: dict[str, int]) -> None:
    picture = rewritten(drawing.filled(mode, (255, 0, 0, 0), **options))

    assert opened(picture.content).convert("RGBA").getpixel((0, 0))[3] == 0  # type: ignore[index]


def test_a_png_has_nothing_but_pixels() -> None:
    chatty = drawing.chatty_png()
    assert {"tEXt", "zTXt", "iCCP", "rest"} <= set(chunks(chatty))

    picture = rewritten(chatty)

    assert set(chunks(picture.content)) == {"IHDR", "IDAT", "IEND"}
    assert b"a-comment" not in picture.content
    assert b"script" not in picture.content


def test_a_photograph_is_upright_and_says_nothing_about_itself() -> None:
    sent = drawing.photograph()
    assert b"taken-at-home" in sent

    picture = rewritten(sent)

    assert (picture.width, picture.height) == (20, 60)
    assert not {*opened(picture.content).info} - {
        *("jfif", "jfif_version", "jfif_unit", "jfif_density")
    }
    assert dict(opened(picture.content).getexif()) == {}
    for word in (b"taken-at-home", b"a-comment", b"a-profile", b"Exif"):
        assert word not in picture.content


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG"])
def test_only_the_first_frame_of_an_animation_is_left(format: str) -> None:
    picture = rewritten(animated(format))

    assert picture.is_animated
    assert picture.media_type in {"image/png", "image/jpeg"}
    assert getattr(opened(picture.content), "n_frames", 1) == 1
    assert opened(picture.content).convert("L").getpixel((4, 4)) < 10  # type: ignore[operator]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x89", id="one byte"),
        pytest.param(drawing.SVG, id="svg"),
        pytest.param(drawing.HTML, id="html"),
        pytest.param(b"%PDF-1.7", id="pdf"),
        pytest.param(b"BM" + bytes(60), id="bmp"),
        pytest.param(drawing.HTML + drawn(), id="html, then a png"),
        pytest.param(b"RIFF\x00\x00\x00\x00WAVEfmt ", id="wave"),
    ],
)
def test_what_is_no_picture_is_refused(content: bytes) -> None:
    with pytest.raises(NotShowable, match="not a PNG, JPEG, WebP or GIF"):
        rewritten(content)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.95])
def test_a_truncated_picture_is_refused(format: str, share: float) -> None:
    whole = drawn(format, (200, 150))

    with pytest.raises(NotShowable, match=r"damaged|not a PNG"):
        rewritten(whole[: max(12, int(len(whole) * share))])


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "GIF"])
def test_damaged_bytes_are_refused_or_shown_but_raise_nothing_else(format: str) -> None:
    whole = bytearray(drawn(format, (64, 64)))
    for place in range(12, len(whole), max(1, len(whole) // 60)):
        damaged = whole.copy()
        damaged[place] ^= 0xFF
        try:
            picture = rewritten(bytes(damaged))
        except NotShowable:
            continue
        assert opened(picture.content).size == (picture.width, picture.height)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(drawing.png_of_size(2**31 - 1, 2**31 - 1), id="a huge PNG"),
        pytest.param(drawing.png_of_size(MAX_PIXELS, 1), id="a long line"),
        pytest.param(drawing.png_of_size(4_097, 4_096), id="one row too many"),
        pytest.param(drawing.webp_of_size(16_383, 16_383), id="a huge WebP"),
        pytest.param(
            drawing.plain_webp_of_size(16_383, 16_383, lossless=True), id="a huge lossless WebP"
        ),
        pytest.param(
            drawing.plain_webp_of_size(16_383, 16_383, lossless=False), id="a huge lossy WebP"
        ),
        pytest.param(drawing.gif_of_size(65_535, 65_535), id="a huge GIF"),
        pytest.param(drawing.gif_of_size(60_000, 60_000, of="frame"), id="a GIF with a huge frame"),
        pytest.param(drawing.bomb(), id="a bomb"),
    ],
)
def test_a_bomb_is_refused_before_it_is_decoded(content: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(NotShowable, match="pixels, and may have"):
            rewritten(content)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 2_000_000


def test_a_jpeg_has_a_limited_number_of_scans() -> None:
    assert rewritten(drawing.jpeg_with_scans(20)).width == 40

    with pytest.raises(NotShowable, match="more than 100 scans"):
        rewritten(drawing.jpeg_with_scans(120))


def test_the_first_picture_of_a_stereo_photograph_is_shown() -> None:
    picture = rewritten(drawing.stereo_photograph())

    assert opened(picture.content).convert("L").getpixel((5, 5)) == 255
    assert (picture.media_type, picture.is_animated) == ("image/jpeg", False)


def test_few_uploads_wait_while_a_picture_is_decoded() -> None:
    with occupied(pictures._places, leaving=1):
        with pictures.place_in_queue(), pytest.raises(TooManyPictures), pictures.place_in_queue():
            pass

        with pictures.place_in_queue():
            pass
