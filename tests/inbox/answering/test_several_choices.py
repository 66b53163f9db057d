"""A person answers several choices of one delivery by clicks alone (docs/protocol.md, Typed
blocks)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.inbox.answering.test_choices import CHOICE, FIELDS, answered, of
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Delivery

COLOURS = {
    "type": "choice",
    "name": "colours",
    "label": "Which colours?",
    "multiple": True,
    "options": [
        {"id": "red", "label": "Red", "recommended": True},
        {"id": "blue", "label": "Blue", "recommended": True},
        {"id": "green", "label": "Green"},
    ],
}
DAYS = {
    "type": "choice",
    "name": "day",
    "label": "On which day?",
    "options": [{"id": "1", "label": "Monday"}, {"id": "2", "label": "Tuesday"}],
}
ANY = {**COLOURS, "options": [{"id": "red", "label": "Red"}, {"id": "blue", "label": "Blue"}]}


def choose(person: Person, delivery: Delivery, **clicked: Any) -> Any:
    return person.answer(delivery, "chosen", **clicked)


def test_each_choice_has_inputs_of_its_own(alices: Person, make_delivery: MakeDelivery) -> None:
    page = alices.see(make_delivery(details_json=of(CHOICE, COLOURS, DAYS))).content.decode()

    assert 'type="radio" name="choice" value="B"' in page
    assert 'type="checkbox" name="choice-1" value="red"' in page
    assert 'type="checkbox" name="choice-1" value="blue"' in page
    assert 'type="checkbox" name="choice-1" value="green"' in page
    assert 'type="radio" name="choice-2" value="1"' in page
    assert "checked" not in page
    assert "Send these choices" in page


def test_the_recommended_options_together_are_an_approval(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(CHOICE, COLOURS))

    choose(alices, delivery, **{"choice": "B", "choice-1": ["", "blue", "red"]})

    assert answered(delivery) == ("approved", None)
    page = text_of(alices.see(delivery))
    assert "Choices Which price? Per person B Which colours? Red, Blue" in page


def test_any_other_option_is_a_redirect_that_returns_all_of_them(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(CHOICE, COLOURS, DAYS, FIELDS[1]))

    choose(alices, delivery, **{"choice": "B", "choice-1": ["", "green", "red"], "choice-2": "2"})

    assert answered(delivery) == (
        "redirected",
        {"choice": "B", "colours": ["red", "green"], "day": "2", "floor": 10},
    )
    assert "On which day? Tuesday" in text_of(alices.see(delivery))


@pytest.mark.parametrize("block", [COLOURS, ANY])
def test_checkboxes_without_a_tick_are_no_answer(
    alices: Person, make_delivery: MakeDelivery, block: Any
) -> None:
    delivery = make_delivery(details_json=of(block, DAYS))

    choose(alices, delivery, **{"choice": "", "choice-1": "2"})

    assert answered(delivery) == ("redirected", {"colours": None, "day": "2"})
    assert "Which colours? nothing chosen" in text_of(alices.see(delivery))


@pytest.mark.parametrize("block", [COLOURS, ANY])
def test_choices_without_any_tick_are_not_sent(
    alices: Person, make_delivery: MakeDelivery, block: Any
) -> None:
    delivery = make_delivery(details_json=of(block))

    answer = choose(alices, delivery, choice="", feedback="My words.")

    assert answer.status_code == 422
    assert "Choose at least one of the options, or “None of these”." in text_of(answer)
    assert text_of(answer).count("None of these") == 3  # once in the error, and on both buttons
    assert "My words." in answer.content.decode()
    assert not hasattr(Delivery.objects.get(), "response")


@pytest.mark.parametrize(
    "clicked",
    [
        {"choice": "B"},
        {"choice": "B", "choice-1": "red"},
        {"choice": "B", "choice-1": "red", "choice-2": "3"},
        {"choice": "B", "choice-1": ["", "red", "pink"], "choice-2": "1"},
        {"choice": "B", "choice-1": ["red", "red"], "choice-2": "1"},
        {"choice": "B", "colours": "red", "day": "1"},
    ],
)
def test_every_choice_needs_an_option_that_was_shown(
    alices: Person, make_delivery: MakeDelivery, clicked: dict[str, Any]
) -> None:
    delivery = make_delivery(details_json=of(CHOICE, COLOURS, DAYS))

    answer = choose(alices, delivery, **clicked, feedback="My words.")

    assert answer.status_code == 422
    assert "Choose one of the options." in text_of(answer)
    assert "My words." in answer.content.decode()
    assert not hasattr(Delivery.objects.get(), "response")


def test_what_was_clicked_stays_after_an_error(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json=of(CHOICE, COLOURS, DAYS))

    page = choose(alices, delivery, **{"choice": "A", "choice-1": ["", "green"]}).content.decode()

    assert "On which day?: Choose one of the options." in page
    assert 'name="choice" value="A" checked' in page
    assert 'name="choice-1" value="green" checked' in page
    assert 'name="choice-1" value="red" form=' in " ".join(page.split())


def test_no_tick_stays_no_tick_beside_saved_replies_and_in_the_editor(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(COLOURS))

    replies = alices.post(delivery, "saved-replies", choice="").content.decode()
    editor = alices.post(delivery, "edit", choice="").content.decode()

    assert "checked" not in replies
    assert 'name="field-0" value="red"' in editor
    assert 'name="field-0" value="red" checked' not in editor


def test_choices_that_were_taken_back_are_clicked_again(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(COLOURS, DAYS))
    choose(alices, delivery, **{"choice": ["", "green"], "choice-1": "2"})
    alices.undo(delivery)

    page = alices.see(delivery).content.decode()

    assert 'name="choice" value="green" checked' in page
    assert 'name="choice" value="red" form=' in " ".join(page.split())
    assert 'name="choice-1" value="2" checked' in page


def test_the_editor_has_checkboxes(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json=of(COLOURS, FIELDS[0]))
    page = alices.get(f"/deliveries/{delivery.pk}/edit").content.decode()
    assert 'type="checkbox" name="field-0" value="red" checked' in page

    fields: dict[str, Any] = {"edited_as": "fields", "field-1": "Prices"}
    wrong = alices.answer(delivery, "redirected", **fields, **{"field-0": ["", "pink"]})
    same = alices.answer(delivery, "redirected", **fields, **{"field-0": ["", "red", "blue"]})
    right = alices.answer(delivery, "redirected", **fields, **{"field-0": ["", "green", "blue"]})

    assert (wrong.status_code, same.status_code, right.status_code) == (422, 422, 303)
    assert (
        'id="field-0-error" aria-live="polite">Choose one of the options.' in wrong.content.decode()
    )
    assert "Nothing to send yet" in text_of(same)
    assert answered(delivery)[1] == {"colours": ["blue", "green"], "title": "Prices"}


@pytest.mark.parametrize(
    ("edit", "status"),
    [
        ({"colours": ["green"], "more": 1}, 303),
        ({"colours": None}, 303),
        ({"colours": "green"}, 422),
        ({"colours": ["pink"]}, 422),
        ({"colours": ["red", "red"]}, 422),
        ({"colours": [["red"]]}, 422),
        ({"colours": {"red": True}}, 422),
    ],
)
def test_raw_json_may_choose_only_what_was_shown(
    alices: Person, make_delivery: MakeDelivery, edit: Any, status: int
) -> None:
    delivery = make_delivery(details_json=of(COLOURS))

    sent = alices.answer(delivery, "redirected", edited_content=json.dumps(edit))

    assert sent.status_code == status


def test_all_ticks_are_kept_when_a_new_version_comes_first(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    old = make_delivery(details_json=of(COLOURS))
    make_delivery(details_json=of(COLOURS), supersedes=old.pk)

    page = choose(alices, old, choice=["", "green", "red"]).content.decode()

    assert '<input type="hidden" name="choice" value="green">' in page
    assert '<input type="hidden" name="choice" value="red">' in page


def test_details_with_choices_alone_do_not_look_lost(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    alone = text_of(alices.see(make_delivery(details_json=of(COLOURS, DAYS))))
    text = {"type": "text", "text": "Two more words."}
    more = text_of(alices.see(make_delivery(details_json=of(text, COLOURS))))

    assert "Nothing beyond what is shown above." in alone
    assert "Nothing beyond" not in more


def test_words_without_a_choice_show_no_choice(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json=of(COLOURS))

    alices.answer(delivery, "redirected", feedback="Take yellow.")

    assert "Choices" not in text_of(alices.see(delivery)).split("Changes requested by")[1]


def test_names_of_the_agent_are_not_names_of_inputs(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    nasty = [{**DAYS, "name": name} for name in ("status", "csrfmiddlewaretoken", "content_hash")]
    delivery = make_delivery(details_json=of(*nasty))

    choose(alices, delivery, **{"choice": "1", "choice-1": "2", "choice-2": "1"})

    assert answered(delivery)[1] == {
        "status": "1",
        "csrfmiddlewaretoken": "2",
        "content_hash": "1",
    }
