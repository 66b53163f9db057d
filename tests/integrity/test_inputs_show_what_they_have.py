"""An input hides nothing that a person approves: no invisible characters, no end of a long line,
and no difference between options that look equal."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest

from tests.inbox.person import Person
from tests.types import MakeDelivery

pytestmark = pytest.mark.once

HIDDEN = "pay 10\u202e\u200b00"
REVEALED = "pay 10⟨U+202E⟩⟨U+200B⟩00"


@pytest.fixture
def page_of(alices: Person, make_delivery: MakeDelivery) -> Any:
    """Returns the page of a question with these blocks, or its editor."""

    def page(*blocks: Any, editor: bool = False) -> str:
        details = json.dumps({"wake_blocks": 1, "blocks": blocks})
        delivery = make_delivery(type="question", details_json=details)
        path = f"/deliveries/{delivery.pk}/edit"
        response = alices.get(path) if editor else alices.see(delivery)
        assert response.status_code == 200
        return unescape(response.content.decode())

    return page


@pytest.mark.parametrize("kind", ["text", "long"])
@pytest.mark.parametrize("editor", [False, True], ids=["on the page", "in the editor"])
def test_a_value_is_shown_with_its_invisible_characters_named(
    page_of: Any, kind: str, editor: bool
) -> None:
    field = {"type": "field", "name": "order", "kind": kind, "value": HIDDEN}

    page = page_of(field, editor=editor)

    inputs = page.partition('class="field__revealed"')[2].partition("</p>")[0]
    assert REVEALED in inputs


def test_a_value_without_them_is_shown_once(page_of: Any) -> None:
    page = page_of({"type": "field", "name": "order", "value": "pay 10"})

    assert "field__revealed" not in page


def test_a_line_that_an_input_could_clip_has_a_text_area(page_of: Any) -> None:
    page = page_of({"type": "field", "name": "order", "value": f"pay 10{' ' * 40}and 90000"})

    assert "<textarea" in page.partition("and 90000</textarea>")[0]


def test_a_long_number_is_shown_in_full(page_of: Any) -> None:
    number = 10 + 1e-12

    page = page_of({"type": "field", "name": "order", "kind": "number", "value": number})
    long = page_of(
        {"type": "field", "name": "order", "kind": "text", "value": "\ufdfa" * 20}
    )  # one of the characters has the width of eighteen letters

    assert "In full" not in page
    assert "<textarea" in long.partition("\ufdfa" * 20)[0]


@pytest.mark.parametrize("multiple", [False, True])
@pytest.mark.parametrize("editor", [False, True], ids=["on the page", "in the editor"])
def test_options_of_one_label_show_their_ids(page_of: Any, multiple: bool, editor: bool) -> None:
    options = [
        {"id": "keep", "label": "Keep it"},
        {"id": "delete", "label": "Keep \u0456t", "recommended": True},  # a Cyrillic letter
        {"id": "no", "label": "No"},
    ]
    field = {"type": "field", "name": "note", "value": "x"}
    choice = {"type": "choice", "name": "do", "multiple": multiple, "options": options}

    page = page_of(choice, field, editor=editor)

    shown = page if editor else page.partition('id="details"')[0]
    assert "keep" in shown.replace('value="keep"', "")
    assert "delete" in shown.replace('value="delete"', "")
    assert ">no<" not in shown


def test_a_text_in_the_editor_is_shown_with_its_invisible_characters_named(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=json.dumps(HIDDEN))

    page = alices.get(f"/deliveries/{delivery.pk}/edit").content.decode()

    named = page.partition("With its invisible characters named</summary>")[2]
    assert REVEALED in named.partition("</details>")[0]
