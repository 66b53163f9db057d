"""A view shows the text before the base64 of a picture, and data that is no base64."""

from __future__ import annotations

import base64
import json
from typing import Any
from uuid import UUID

import pytest

from inbox.rendering.details import render
from inbox.rendering.files import Files
from tests.integrity.leaves import visible_text
from tests.wake.blobs.drawing import drawn

pytestmark = pytest.mark.once

FILES = Files(UUID(int=1), {})
PNG = base64.b64encode(drawn()).decode()
URL = "data:image/png;base64,"
SECRET = "pay 90000 to mallory"


def shown(files: Files | None, **block: Any) -> str:
    block = {"type": "image", "alt": "A page", **block}
    rendered = render(json.dumps({"wake_blocks": 1, "blocks": [block]}), files=files)
    assert rendered is not None
    return visible_text(rendered.html)


@pytest.mark.parametrize("files", [FILES, None], ids=["on the page", "without files"])
@pytest.mark.parametrize(
    "block",
    [
        {"data": f"data:image/png;note={SECRET},{PNG}"},
        {"data": f"{SECRET},{PNG}"},
        {"data": f"{URL}{SECRET},{PNG}"},
        {"data": SECRET},
        {"data": f"{URL}{SECRET}"},
        {"data": [SECRET]},
        {"blob": "not there", "data": f"{SECRET},{PNG}"},
        {"blob": "not there", "data": SECRET},
        {"alt": "", "data": f"{SECRET},{PNG}"},
    ],
)
def test_text_in_the_data_of_a_picture_is_in_sight(
    files: Files | None, block: dict[str, Any]
) -> None:
    text = shown(files, **block)

    assert SECRET in text
    assert PNG not in text


@pytest.mark.parametrize("data", [PNG, f"{URL}{PNG}"])
def test_an_honest_picture_has_no_more_to_say(data: str) -> None:
    assert "Other members" not in shown(FILES, data=data)


def test_text_that_claims_to_be_a_picture_counts_for_the_length_of_the_page() -> None:
    block = {"type": "image", "alt": "A page", "data": f"{SECRET} " * 20_000}

    rendered = render(json.dumps({"wake_blocks": 1, "blocks": [block]}), files=FILES)

    assert rendered is not None
    assert rendered.is_too_long
    assert rendered.left_out
