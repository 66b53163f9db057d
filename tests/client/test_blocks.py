"""The server reads every block that the builders make, and shows none of them as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from inbox.rendering.blocks import requested_input
from inbox.rendering.details import render
from inbox.rendering.files import Files
from tests.wake.blobs.drawing import drawn
from wake.models import UploadedBlob
from wake_client import Blob, blocks

pytestmark = pytest.mark.once
PIXEL = drawn(size=(1, 1))
STORED = UploadedBlob(
    id=uuid4(), media_type="image/png", size=9, sha256="0" * 64, is_picture=True, width=4, height=3
)
PICTURE = Blob(str(STORED.pk), "image/png", 9, "0" * 64, 4, 3, timezone.now())
REPORT = Blob(str(uuid4()), "text/csv", 9, "0" * 64, None, None, timezone.now())
PAGE = blocks.page(
    blocks.markdown("Both **fit**.", title="Why"),
    blocks.text("plain"),
    blocks.code("def f(): 1", language="py"),
    blocks.code("x"),
    blocks.diff("a b", "a c"),
    blocks.table(["Price", "Dearer"], [["A", 111], ["B", None]], title="Both"),
    blocks.pairs({"a": 1, "b": {"c": True}}),
    blocks.chart("line", ["Mon", "Tue"], {"Visits": [3, None]}, unit="a day"),
    blocks.image(PIXEL, "One pixel", caption="From the top", title="Small"),
    blocks.image(PICTURE, "A page"),
    blocks.file(PICTURE, "page.png"),
    blocks.json([1, {"a": None}]),
    blocks.link("https://a.example/x", "Here"),
    blocks.choice("Which?", ["A", blocks.option("B", "Each", text="Fair.", recommended=True)]),
    blocks.choice("Who?", ["sales", "support"], name="told", multiple=True),
    blocks.field("floor", 10, kind="number", label="Floor"),
    blocks.field("note"),
    text="Two prices are possible.",
)


def test_every_block_is_shown_as_intended() -> None:
    rendered = render(json.dumps(PAGE), files=Files(uuid4(), {STORED.pk: STORED}))

    assert rendered is not None
    assert "could not be displayed" not in rendered.html
    assert "Two prices are possible." in rendered.html
    assert rendered.html.count("<img") == 2
    assert rendered.html.count("SHA-256") == 1


def test_choices_and_fields_are_asked_for_with_their_values() -> None:
    asked = requested_input(json.dumps(PAGE))

    assert isinstance(asked.proposal, dict)
    assert {name: str(value) for name, value in asked.proposal.items()} == {
        "choice": "B",
        "told": "None",
        "floor": "10",
        "note": "",
    }


def test_a_proposal_is_what_a_person_edits() -> None:
    page = blocks.page(blocks.markdown("The letter."), proposal={"to": "blog"})

    assert requested_input(json.dumps(page)).proposal == {"to": "blog"}


@pytest.mark.parametrize(
    "build",
    [
        lambda: blocks.choice("Which?", []),
        lambda: blocks.choice("Which?", [str(number) for number in range(13)]),
        lambda: blocks.choice("Which?", ["a", "a"]),
        lambda: blocks.choice("Which?", ["a\nb"]),
        lambda: blocks.choice("Which?", ["a"], name=""),
        lambda: blocks.choice("Which?", [blocks.option(each, recommended=True) for each in "ab"]),
        lambda: blocks.option("x" * 65),
        lambda: blocks.link("javascript:alert(1)"),
        lambda: blocks.page(blocks.choice("A?", ["a"]), blocks.choice("B?", ["b"])),
        lambda: blocks.page(blocks.field("a"), proposal={}),
        lambda: blocks.image(PIXEL, " "),
        lambda: blocks.image(b"<svg/>", "A drawing"),
        lambda: blocks.image(PIXEL + bytes(blocks.MAX_INLINE_BYTES), "A large one"),
        lambda: blocks.image(Path("/nowhere/x.png"), "Nothing"),
        lambda: blocks.image(REPORT, "Figures"),
        lambda: blocks.file(REPORT, ""),
    ],
)
def test_a_block_that_the_server_would_show_as_json_is_refused(build: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        build()


def test_a_small_picture_travels_in_the_delivery(tmp_path: Path) -> None:
    path = tmp_path / "pixel.png"
    path.write_bytes(PIXEL)

    assert blocks.image(path, "One pixel") == blocks.image(PIXEL, "One pixel")
    assert "data" in blocks.image(PIXEL, "One pixel")
    assert blocks.image(PICTURE, "A page") == {
        "type": "image",
        "alt": "A page",
        "blob": PICTURE.blob_id,
    }
