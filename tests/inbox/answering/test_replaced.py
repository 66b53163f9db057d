"""A page that was opened before a new version came cannot answer the new version, which the person
has not seen."""

from __future__ import annotations

import re
from typing import Any

import pytest

from inbox.delivery.revisions import newest_version_of
from tests.inbox.answering.batches.test_batch import choose, send
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Delivery, Response


@pytest.fixture
def old(make_delivery: MakeDelivery) -> Delivery:
    return make_delivery(headline="First draft", details_json='{"price": 10, "title": "Old"}')


@pytest.fixture
def new(make_delivery: MakeDelivery, old: Delivery) -> Delivery:
    return make_delivery(
        headline="Second draft",
        details_json='{"price": 99, "title": "Old"}',
        supersedes=old.pk,
    )


def form_in(page: Any, action: str) -> dict[str, str]:
    """Returns the hidden fields of the form that posts to `action`."""
    [form] = re.findall(rf'action="{action}"[^>]*>(.*?)</form>', page.content.decode(), re.DOTALL)
    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form, re.DOTALL)
    return {name: value for name, value in fields if name != "csrfmiddlewaretoken"}


@pytest.mark.parametrize("status", ["approved", "rejected"])
def test_an_answer_to_a_version_that_was_replaced_meanwhile_is_not_sent(
    alices: Person, old: Delivery, new: Delivery, status: str
) -> None:
    conflict = alices.answer(old, status, feedback="Fine with 10.")

    page = text_of(conflict)
    assert conflict.status_code == 409
    assert "A new version has replaced this one Second draft" in page
    assert "10" in page
    assert "99" in page
    assert "Fine with 10." in page
    assert f"You chose: {status.capitalize()}." in page
    assert not Response.objects.exists()


def test_the_newest_of_very_many_versions_is_found_in_one_query(
    old: Delivery, make_delivery: MakeDelivery, django_assert_num_queries: Any
) -> None:
    newest = old
    for _ in range(120):
        newest = make_delivery(supersedes=newest.pk)

    with django_assert_num_queries(1):
        assert newest_version_of(old) == newest
    assert newest_version_of(newest) is None


def test_an_edit_is_kept_too(alices: Person, old: Delivery, new: Delivery) -> None:
    edit = {"edited_content": '{"price": 11,\r\n "title": "Mine"}', "edited_as": "json"}

    conflict = alices.answer(old, "redirected", feedback="Mine.", **edit)

    assert conflict.status_code == 409
    assert "Mine" in text_of(conflict)
    assert "11" in text_of(conflict)


def test_typed_fields_can_still_be_sent_to_the_old_version(
    alices: Person, old: Delivery, new: Delivery
) -> None:
    typed = {"field-0": "12", "field-1": "Mine"}
    conflict = alices.answer(old, "redirected", edited_as="fields", **typed)
    assert conflict.status_code == 409

    sent = alices.client.post(
        f"/deliveries/{old.pk}/response", form_in(conflict, f"/deliveries/{old.pk}/response")
    )

    assert sent.status_code == 303
    response = Response.objects.get()
    assert (response.delivery_id, response.status) == (old.pk, "redirected")
    assert response.edited_json is not None
    assert "Mine" in response.edited_json


def test_typed_text_is_carried_to_the_new_version(
    alices: Person, old: Delivery, new: Delivery
) -> None:
    conflict = alices.answer(old, feedback="Line one.\r\n<b>Two</b>")
    path = f"/deliveries/{new.pk}/continue"

    page = alices.client.post(path, {"feedback": "Line one.\r\n<b>Two</b>"})

    assert 'value="Line one.\r\n&lt;b&gt;Two&lt;/b&gt;"' in conflict.content.decode()
    assert form_in(conflict, path).keys() == {"feedback"}
    assert "Continuing keeps your message, but not your choices or edits." in text_of(conflict)
    assert page.status_code == 200
    assert "Second draft" in text_of(page)
    assert "Line one.\r\n&lt;b&gt;Two&lt;/b&gt;</textarea>" in page.content.decode()
    assert not Response.objects.exists()


def test_an_answer_can_be_sent_from_the_replaced_page(
    alices: Person, old: Delivery, new: Delivery
) -> None:
    page = alices.see(old)
    path = f"/deliveries/{old.pk}/response"

    sent = alices.client.post(path, {**form_in(page, path), "status": "approved"})

    assert "Replaced by Second draft" in text_of(page)
    assert sent.status_code == 303
    assert Response.objects.get().delivery_id == old.pk


def test_the_editor_shows_the_replaced_page_too(
    alices: Person, old: Delivery, new: Delivery
) -> None:
    page = alices.get(f"/deliveries/{old.pk}/edit")

    assert "A new version has replaced this one." in text_of(page)
    assert form_in(page, f"/deliveries/{old.pk}/response")["knows_replaced"] == "yes"


def test_the_last_of_several_versions_is_shown(
    alices: Person, make_delivery: MakeDelivery, old: Delivery, new: Delivery
) -> None:
    make_delivery(headline="Third draft", details_json='{"price": 7}', supersedes=new.pk)

    page = text_of(alices.answer(old))

    assert "A new version has replaced this one Third draft" in page
    assert "Replaces First draft" in page


def test_an_earlier_answer_is_reported_before_a_new_version(
    alices: Person, bobs: Person, make_delivery: MakeDelivery, old: Delivery
) -> None:
    alices.answer(old)
    make_delivery(headline="Second draft", supersedes=old.pk)

    assert "alice answered first" in text_of(bobs.answer(old))


def test_a_batch_answers_no_replaced_version(
    alices: Person, make_delivery: MakeDelivery, old: Delivery
) -> None:
    chosen = choose(old)
    alices.get("/batch/", id=str(old.pk))
    make_delivery(headline="Second draft", supersedes=old.pk)

    result = send(alices, chosen)

    assert "It changed after you read it." in text_of(result)
    assert not Response.objects.exists()
