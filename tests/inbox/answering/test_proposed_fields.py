"""On the delivery's page, a person changes the values that an agent proposes, without the
editor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts.models import User
from inbox.models import SavedReply
from tests.inbox.answering.test_choices import CHOICE, FIELDS, answered, of
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Delivery, Response

PROPOSED = {"title": "Prices", "floor": 10, "mail": False, "why": "One\nTwo"}
AS_SHOWN = {"field-0": "Prices", "field-1": "10", "field-2": "false", "field-3": "One\r\nTwo"}


@pytest.fixture
def proposal(make_delivery: MakeDelivery) -> Delivery:
    return make_delivery(details_json=of(*FIELDS))


def send(person: Person, delivery: Delivery, status: str = "chosen", **fields: Any) -> Any:
    return person.answer(delivery, status, **{**AS_SHOWN, **fields})


def test_the_page_has_an_input_for_each_value_and_shows_it_once(
    alices: Person, ritas: Person, proposal: Delivery
) -> None:
    page = alices.see(proposal).content.decode()

    assert 'name="field-1" form="answer" value="10"' in page
    assert page.count(">Floor<") == 1
    assert "Send these values" in page
    assert "field-1" not in ritas.see(proposal).content.decode()
    assert "Floor" in text_of(ritas.see(proposal))


def test_values_below_an_escaped_name_are_shown(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    escaped = of(*FIELDS).replace("wake_blocks", "wake\\u005fblocks")
    delivery = make_delivery(details_json=escaped)

    page = alices.see(delivery).content.decode()

    assert 'name="field-1" form="answer" value="10"' in page
    assert "Send these values" in page


def test_unchanged_values_are_an_approval(alices: Person, proposal: Delivery) -> None:
    send(alices, proposal)

    assert answered(proposal) == ("approved", None)


def test_changed_values_go_to_the_agent_with_all_of_the_others(
    alices: Person, proposal: Delivery
) -> None:
    send(alices, proposal, **{"field-1": "12.50", "field-2": "true"})

    assert answered(proposal) == ("redirected", PROPOSED | {"floor": 12.5, "mail": True})
    assert "12.50" in str(Response.objects.get(delivery=proposal).edited_json)


def test_changed_values_are_never_lost_to_another_button(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    """Changed values are kept by every way to answer: the buttons in More, Approve of an update,
    and an answer in words."""
    update = make_delivery(type="update", details_json=of(*FIELDS))
    send(alices, update, "approved", **{"field-1": "12"})
    assert answered(update) == ("redirected", PROPOSED | {"floor": 12})

    output = make_delivery(details_json=of(*FIELDS))
    send(alices, output, "redirected", feedback="Dearer.", **{"field-1": "12"})
    assert answered(output) == ("redirected", PROPOSED | {"floor": 12})

    words = make_delivery(details_json=of(*FIELDS))
    send(alices, words, "redirected", feedback="As you say.")
    assert answered(words) == ("redirected", None)


def test_a_rejection_has_no_values(alices: Person, proposal: Delivery) -> None:
    send(alices, proposal, "rejected", **{"field-1": "12"})

    assert answered(proposal) == ("rejected", None)


def test_a_choice_goes_with_the_changed_values(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(type="question", details_json=of(CHOICE, *FIELDS))
    shown = {f"field-{number + 1}": text for number, text in enumerate(AS_SHOWN.values())}

    page = alices.see(delivery).content.decode()
    alices.answer(delivery, "chosen", choice="B", **shown | {"field-2": "12"})

    assert 'name="field-2" form="answer"' in page
    assert 'name="field-0"' not in page
    assert answered(delivery) == ("redirected", {"choice": "B", **PROPOSED, "floor": 12})


def test_an_error_is_shown_beside_its_value(alices: Person, proposal: Delivery) -> None:
    page = send(alices, proposal, **{"field-1": "cheap", "feedback": "My words"})

    assert page.status_code == 422
    assert 'value="cheap"' in page.content.decode()
    assert "Enter a number for Floor, such as 12 or 0.5." in text_of(page)
    assert "My words" in page.content.decode()
    assert not Response.objects.exists()


def test_an_undone_answer_shows_the_changed_values_again(
    alices: Person, proposal: Delivery
) -> None:
    send(alices, proposal, **{"field-1": "12"})
    alices.undo(proposal)

    assert 'value="12"' in alices.see(proposal).content.decode()


def test_the_editor_begins_with_the_changed_values(alices: Person, proposal: Delivery) -> None:
    editor = alices.post(proposal, "edit", **AS_SHOWN | {"field-1": "12"})

    assert 'value="12"' in editor.content.decode()


def test_a_value_that_cannot_be_read_takes_none_with_it_to_the_editor(
    alices: Person, proposal: Delivery
) -> None:
    typed = AS_SHOWN | {"field-0": "New title", "field-1": "cheap"}

    editor = alices.post(proposal, "edit", **typed)

    assert [field.value for field in editor.context["editor"].fields][:2] == ["New title", "cheap"]


def test_a_saved_reply_keeps_the_changed_values(
    alices: Person, alice: User, proposal: Delivery
) -> None:
    """The page used to return to the agent's values, and the next click sent these."""
    reply = SavedReply.objects.create(user=alice, status="approved", name="Ship it", text="Go.")
    typed = AS_SHOWN | {"field-0": "New title", "field-1": "cheap", "field-2": "true"}

    page = alices.post(proposal, "saved-replies", saved_reply=str(reply.pk), **typed)

    values = [field.value for field in page.context["fields"]]
    assert values == list(typed.values())
    assert page.context["feedback"] == "Go."


def test_an_edit_of_the_raw_json_is_not_lost_on_the_way_to_the_editor(
    alices: Person, proposal: Delivery
) -> None:
    more = json.dumps(PROPOSED | {"extra": 1})
    alices.answer(proposal, "redirected", edited_as="json", edited_content=more)
    alices.undo(proposal)

    assert "extra" in alices.post(proposal, "edit", **AS_SHOWN).content.decode()
