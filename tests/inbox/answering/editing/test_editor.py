"""The editor works without JavaScript: fields, JSON, text and preview."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.models import Delivery, Response

FLAT = '{"title": "Report", "share": 0.10, "final": false}'


def edit(person: Person, delivery: Delivery, **fields: str) -> Any:
    return person.post(delivery, "edit", content_hash=delivery.content_hash, **fields)


def test_a_flat_object_is_edited_as_fields(alices: Person, make_delivery: MakeDelivery) -> None:
    page = alices.get(f"/deliveries/{make_delivery(details_json=FLAT).pk}/edit").content.decode()

    assert 'name="edited_as" value="fields"' in page
    assert 'name="field-0" value="Report"' in page
    assert 'name="field-1" value="0.10"' in page
    assert '<option value="false" selected>' in page
    assert 'name="edited_content"' not in page


@pytest.mark.parametrize(
    "details",
    [
        '{"a": {"b": 1}}',
        '{"a": [1]}',
        str({f"k{n}": "" for n in range(13)}).replace("'", '"'),
        "{}",
    ],
)
def test_a_nested_object_is_edited_in_one_text_area(
    alices: Person, make_delivery: MakeDelivery, details: str
) -> None:
    delivery = make_delivery(details_json=details)

    page = alices.get(f"/deliveries/{delivery.pk}/edit").content.decode()

    assert 'name="edited_content"' in page
    assert 'value="json" checked' in page


@pytest.mark.parametrize(("details", "begins"), [('"a text\\n"', "a text\n"), (None, "")])
def test_a_text_is_edited_as_text(
    alices: Person, make_delivery: MakeDelivery, details: str | None, begins: str
) -> None:
    delivery = make_delivery(details_json=details)

    page = alices.get(f"/deliveries/{delivery.pk}/edit").content.decode()

    assert f">\n{begins}</textarea>" in page
    assert 'value="text" checked' in page


def test_feedback_from_the_delivery_page_is_carried_to_the_editor(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    page = edit(alices, make_delivery(), feedback="Written before.")

    assert page.status_code == 200
    assert "Written before." in text_of(page)


def test_the_preview_shows_what_changes_and_sends_nothing(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=FLAT)
    fields = {"field-0": "Market report", "field-1": "0.10", "field-2": "false"}

    page = edit(alices, delivery, view="preview", edited_as="fields", feedback="Mine.", **fields)

    page_html = page.content.decode()
    assert "<ins>Market report</ins>" in page_html
    assert 'value="Market report"' in page_html
    assert "Mine." in page_html
    assert not Response.objects.exists()


def test_fields_and_raw_json_carry_the_edit_back_and_forth(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=FLAT)
    fields = {"field-0": "New", "field-1": "0.10", "field-2": "true"}

    raw = edit(alices, delivery, view="raw", edited_as="fields", **fields)
    text = raw.context["editor"].text
    again = edit(alices, delivery, view="fields", edited_as="json", edited_content=text)

    assert '"title": "New"' in text
    assert '"share": 0.10' in text
    assert '"final": true' in text
    assert 'name="field-0" value="New"' in again.content.decode()
    assert '<option value="true" selected>' in again.content.decode()


def test_json_with_other_members_cannot_become_fields_and_stays_as_typed(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=FLAT)

    page = edit(
        alices, delivery, view="fields", edited_as="json", edited_content='{"other": "words"}'
    )

    assert "the edit no longer matches" in text_of(page)
    assert '{"other": "words"}' in text_of(page)


def test_invalid_json_stays_as_typed(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json=FLAT)

    page = edit(alices, delivery, view="preview", edited_as="json", edited_content='{"a": ')

    assert page.status_code == 422
    assert '{"a": ' in text_of(page)
    assert "Not valid JSON" in text_of(page)


@pytest.mark.parametrize(
    ("view", "typed"),
    [
        ("fields", {"edited_as": "json", "edited_content": '{"title": "My words", '}),
        ("raw", {"edited_as": "fields", "field-0": "My words", "field-1": "many"}),
    ],
)
def test_invalid_text_survives_a_change_of_view(
    alices: Person, make_delivery: MakeDelivery, view: str, typed: dict[str, str]
) -> None:
    delivery = make_delivery(details_json=FLAT)

    page = edit(alices, delivery, view=view, **typed)

    assert page.status_code == 422
    assert "My words" in page.content.decode()


def test_the_editor_starts_with_the_draft_and_links_to_the_original(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='"old words"')
    alices.answer(delivery, "redirected", edited_content="my words", edited_as="text")
    alices.undo(delivery)

    mine = alices.get(f"/deliveries/{delivery.pk}/edit")
    original = alices.get(f"/deliveries/{delivery.pk}/edit", **{"from": "original"})

    assert ">\nmy words</textarea>" in mine.content.decode()
    assert ">\nold words</textarea>" in original.content.decode()


def test_the_editor_of_an_answered_delivery_redirects_to_it(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()
    answer(delivery)

    assert (
        alices.get(f"/deliveries/{delivery.pk}/edit")["Location"] == f"/deliveries/{delivery.pk}/"
    )


def test_a_reader_does_not_get_the_editor(ritas: Person, make_delivery: MakeDelivery) -> None:
    assert ritas.get(f"/deliveries/{make_delivery().pk}/edit").status_code == 403


def test_hostile_keys_and_values_are_escaped(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json='{"<img src=x>\\u202e": "\\"><script>alert(1)</script>"}')

    page = alices.get(f"/deliveries/{delivery.pk}/edit").content.decode()

    assert "<img" not in page
    assert "<script>alert" not in page
    assert "&lt;img src=x&gt;⟨U+202E⟩" in page


def test_a_first_line_break_survives_the_text_area(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='"\\n\\nbegins low"')

    page = alices.get(f"/deliveries/{delivery.pk}/edit").content.decode()

    assert ">\n\n\nbegins low</textarea>" in page
