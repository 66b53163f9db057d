"""Draws the pictures of the demo."""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO

from PIL import Image, ImageDraw

WIDTH, HEIGHT = 960, 540

Draw = ImageDraw.ImageDraw


def drawn(name: str) -> str:
    """Returns a PNG as base64."""
    image = Image.new("RGB", (WIDTH, HEIGHT))
    DRAWINGS[name](ImageDraw.Draw(image))
    file = BytesIO()
    image.quantize(64).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def _harbour(draw: Draw) -> None:
    _sky(draw, top=(255, 214, 165), bottom=(253, 240, 213), until=330)
    draw.ellipse((690, 190, 810, 310), fill=(255, 244, 214))
    draw.rectangle((0, 330, WIDTH, HEIGHT), fill=(94, 139, 150))
    for line in range(345, HEIGHT, 22):
        draw.line((720 - line // 3, line, 780 + line // 3, line), fill=(196, 209, 196), width=3)
    for x, size in ((150, 1.0), (390, 0.7), (560, 0.5)):
        _boat(draw, x, 345, size)


def _boat(draw: Draw, x: int, y: int, size: float) -> None:
    hull = [(-80, 0), (80, 0), (52, 42), (-60, 42)]
    sail = [(0, -190), (0, -18), (96, -18)]
    for shape, colour in ((hull, (62, 60, 74)), (sail, (246, 243, 235))):
        draw.polygon([(x + dx * size, y + dy * size) for dx, dy in shape], fill=colour)
    draw.line((x, y - 196 * size, x, y), fill=(62, 60, 74), width=4)


def _workshop(draw: Draw) -> None:
    draw.rectangle((0, 0, WIDTH, 400), fill=(233, 214, 188))
    draw.rectangle((0, 400, WIDTH, HEIGHT), fill=(139, 101, 71))
    for x in (120, 390):
        draw.rectangle((x, 70, x + 190, 250), fill=(190, 220, 226), outline=(112, 84, 60), width=9)
        draw.line((x + 95, 70, x + 95, 250), fill=(112, 84, 60), width=6)
    draw.rectangle((90, 340, 870, 372), fill=(172, 124, 84))
    for x in (130, 800):
        draw.rectangle((x, 372, x + 28, 510), fill=(120, 84, 56))
    for number, colour in enumerate(((176, 74, 58), (64, 112, 118), (212, 160, 72))):
        draw.rectangle((650 + number * 62, 230 - number * 14, 696 + number * 62, 340), fill=colour)


def _outdoors(draw: Draw) -> None:
    _sky(draw, top=(167, 206, 226), bottom=(228, 240, 240), until=360)
    draw.ellipse((-160, 260, 620, 760), fill=(122, 160, 106))
    draw.ellipse((380, 300, 1180, 800), fill=(98, 140, 94))
    for x, height in ((250, 150), (330, 166), (410, 142), (490, 158)):
        draw.ellipse((x - 20, 430 - height, x + 20, 470 - height), fill=(198, 150, 118))
        draw.rounded_rectangle((x - 28, 474 - height, x + 28, 450), 22, fill=(72, 82, 104))
    draw.rectangle((760, 210, 784, 400), fill=(104, 78, 58))
    draw.ellipse((690, 90, 860, 270), fill=(74, 118, 78))


def _sky(
    draw: Draw, *, top: tuple[int, int, int], bottom: tuple[int, int, int], until: int
) -> None:
    for y in range(until):
        share = y / until
        colour = [round(a + (b - a) * share) for a, b in zip(top, bottom, strict=True)]
        draw.line((0, y, WIDTH, y), fill=(colour[0], colour[1], colour[2]))


DRAWINGS: dict[str, Callable[[Draw], None]] = {
    "harbour": _harbour,
    "outdoors": _outdoors,
    "workshop": _workshop,
}
