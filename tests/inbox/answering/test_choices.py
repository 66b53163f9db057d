"""A person chooses an option or changes fields, and the agent receives the choice
(docs/protocol.md, Typed blocks)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from inbox.answering.editing.edits import Original
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Delivery, Response

PROTOCOL = Path(__file__).parents[3] / "docs" / "protocol.md"
CHOICE = {
    "type": "choice",
    "label": "Which price?",
    "options": [
        {"id": "A", "label": "One price"},
        {"id": "B", "label": "Per person", "recommended": True},
    ],
}
FIELDS = [
    {"type": "field", "name": "title", "label": "Title", "value": "Prices"},
    {"type": "field", "name": "floor", "label": "Floor", "kind": "number", "value": 10},
    {"type": "field", "name": "mail", "label": "Send mail", "kind": "boolean", "value": False},
    {"type": "field", "name": "why", "label": "Why", "kind": "long", "value": "One\nTwo"},
]


def of(*blocks: Any) -> str:
    return json.dumps({"wake_blocks": 1, "blocks": blocks})


def choose(person: Person, delivery: Delivery, id: str, **fields: Any) -> Any:
    return person.answer(delivery, "chosen", choice=id, **fields)


def answered(delivery: Delivery) -> tuple[str, Any]:
    response = Response.objects.get(delivery=delivery)
    return response.status, response.edited_content


def test_the_form_offers_the_options_and_selects_none_of_them(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    first_page = alices.see(make_delivery(type="question", details_json=of(CHOICE)))

    page = first_page.content.decode()
    assert 'name="choice" value="A"' in page
    assert 'name="choice" value="B"' in page
    assert page.count("recommended") == 1
    assert "checked" not in page
    assert "Send this choice" in page
    assert "None of these" in page
    assert "Yes, go ahead" not in page


@pytest.mark.parametrize(
    ("id", "becomes"), [("B", ("approved", None)), ("A", ("redirected", {"choice": "A"}))]
)
def test_the_recommended_option_approves_and_another_redirects(
    alices: Person, make_delivery: MakeDelivery, id: str, becomes: tuple[str, Any]
) -> None:
    delivery = make_delivery(details_json=of(CHOICE))

    assert choose(alices, delivery, id, feedback="Because.").status_code == 303

    assert answered(delivery) == becomes
    assert Response.objects.get().feedback == "Because."
    label = {"A": "One price", "B": "Per person"}[id]
    assert f"Chose {label} by alice" in text_of(alices.see(delivery))
    assert f"Chose {label}: " in text_of(alices.get("/", answered=delivery.pk))


@pytest.mark.parametrize("id", ["", "C", "<script>", "b", "A" * 10_000])
def test_an_unknown_option_cannot_be_chosen(
    alices: Person, make_delivery: MakeDelivery, id: str
) -> None:
    delivery = make_delivery(details_json=of(CHOICE))

    answer = choose(alices, delivery, id, feedback="My words.")

    assert answer.status_code == 422
    assert "Choose one of the options." in text_of(answer)
    assert "My words." in answer.content.decode()
    assert not Response.objects.exists()


def test_a_delivery_without_options_accepts_no_choice(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    assert choose(alices, make_delivery(details_json='{"choice": "A"}'), "A").status_code == 422


def test_without_a_recommendation_every_option_is_a_redirect(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    plain = {**CHOICE, "options": [{"id": "A", "label": "One"}, {"id": "B", "label": "Two"}]}
    delivery = make_delivery(details_json=of(plain))

    assert "checked" not in alices.see(delivery).content.decode()
    choose(alices, delivery, "B")

    assert answered(delivery) == ("redirected", {"choice": "B"})


def test_a_choice_gives_the_fields_back_as_they_were_proposed(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(CHOICE, FIELDS[1]))

    choose(alices, delivery, "A")

    assert answered(delivery) == ("redirected", {"choice": "A", "floor": 10})


def test_an_undone_choice_is_selected_again(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json=of(CHOICE))
    choose(alices, delivery, "A")
    alices.undo(delivery)

    assert 'value="A" checked' in alices.see(delivery).content.decode()


def test_an_answer_in_words_chose_no_option(alices: Person, make_delivery: MakeDelivery) -> None:
    """The page used to say that the answer chose the recommended option."""
    delivery = make_delivery(type="question", details_json=of(CHOICE))
    alices.answer(delivery, "redirected", feedback="Neither yet.")

    page = text_of(alices.see(delivery))

    assert "Answered by alice" in page
    assert "chosen" not in page


def test_the_second_person_keeps_their_choice(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(CHOICE))
    alices.answer(delivery)

    late = choose(bobs, delivery, "A", feedback="Mine.")

    assert late.status_code == 409
    assert "You chose: One price." in text_of(late)
    assert "&quot;choice&quot;: &quot;A&quot;" in late.content.decode()


OPEN = {**CHOICE, "options": [{"id": "A", "label": "One"}, {"id": "B", "label": "Two"}]}
TOLD = {**OPEN, "name": "told", "label": "Tell whom?", "multiple": True}


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([OPEN], "Choose one of the options."),
        ([OPEN, *FIELDS], "Choose one of the options."),
        ([CHOICE, {**OPEN, "name": "more"}], "Which price?: Choose one of the options."),
        ([TOLD], "Choose at least one of the options"),
    ],
)
def test_an_approval_from_a_row_needs_a_recommended_option(
    alices: Person, make_delivery: MakeDelivery, blocks: list[Any], words: str
) -> None:
    """This approval used to be sent with a choice of null. docs/protocol.md excludes such a
    choice."""
    delivery = make_delivery(details_json=of(*blocks))

    answer = alices.answer(delivery, "approved")

    assert answer.status_code == 422
    assert words in text_of(answer)
    assert 'name="choice" value="A"' in answer.content.decode()
    assert not Response.objects.exists()


def test_an_approval_from_a_row_is_the_recommended_options(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(CHOICE, TOLD, *FIELDS))

    alices.answer(delivery, "approved")

    assert answered(delivery) == ("approved", None)


def test_the_editor_has_a_control_for_each_field_and_for_the_choice(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(CHOICE, *FIELDS))

    page = alices.get(f"/deliveries/{delivery.pk}/edit").content.decode()

    assert '<option value="B" selected>Per person: B (recommended)</option>' in page
    assert '<bdi dir="auto">Title</bdi>' in page
    assert 'name="field-1" value="Prices"' in page
    assert 'name="field-2" value="10" inputmode="decimal"' in page
    assert '<option value="false" selected>' in page
    assert ">\nOne\nTwo</textarea>" in page


def test_a_chosen_option_stays_in_the_editor_and_the_saved_replies(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(CHOICE, *FIELDS))

    editor = alices.post(delivery, "edit", choice="A", feedback="Mine.").content.decode()
    page = alices.post(delivery, "saved-replies", choice="A").content.decode()
    unknown = alices.post(delivery, "edit", choice="Z").content.decode()

    assert '<option value="A" selected>' in editor
    assert 'value="A" checked' in page
    assert '<option value="B" selected>' in unknown


def send(person: Person, delivery: Delivery, **fields: str) -> Any:
    return person.answer(delivery, "redirected", edited_as="fields", **fields)


def test_changed_fields_come_back_with_all_of_the_others(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(CHOICE, *FIELDS))

    send(alices, delivery, **{"field-0": "A", "field-2": "12.50", "field-3": "true"})

    assert answered(delivery) == (
        "redirected",
        {"choice": "A", "title": "Prices", "floor": 12.5, "mail": True, "why": "One\nTwo"},
    )
    assert "12.50" in str(Response.objects.get().edited_json)


def test_unchanged_fields_are_no_edit(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json=of(*FIELDS))

    answer = send(alices, delivery, **{"field-3": "One\r\nTwo"})

    assert answer.status_code == 422
    assert "Nothing to send yet" in text_of(answer)


@pytest.mark.parametrize(
    ("name", "typed", "words"),
    [
        ("field-0", "C", "Choose one of the options."),
        ("field-2", "ten", "Enter a number for Floor"),
    ],
)
def test_a_field_error_is_shown_beside_its_field(
    alices: Person, make_delivery: MakeDelivery, name: str, typed: str, words: str
) -> None:
    delivery = make_delivery(details_json=of(CHOICE, *FIELDS))

    answer = send(alices, delivery, feedback="Kept.", **{"field-1": "My title", name: typed})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert re.search(rf'id="{name}-error"[^>]*>{words}', page)
    assert 'value="My title"' in page
    assert "Kept." in page


def test_raw_json_may_add_members_but_no_unknown_option(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=of(CHOICE))

    wrong = alices.answer(delivery, "redirected", edited_content='{"choice": "Z"}')
    right = alices.answer(delivery, "redirected", edited_content='{"choice": "A", "also": 1}')

    assert wrong.status_code == 422
    assert right.status_code == 303
    assert answered(delivery) == ("redirected", {"choice": "A", "also": 1})


def test_hostile_options_and_fields_are_escaped(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    nasty = '"><script>alert(1)</script>\u202e'
    choice = {"type": "choice", "label": nasty, "options": [{"id": nasty, "label": nasty}]}
    field = {"type": "field", "name": nasty, "label": nasty, "value": nasty}
    delivery = make_delivery(details_json=of(choice, field))

    for page in (alices.see(delivery), alices.get(f"/deliveries/{delivery.pk}/edit")):
        first_page = page.content.decode()
        assert "<script>alert" not in first_page
        assert "⟨U+202E⟩" in first_page

    assert choose(alices, delivery, nasty).status_code == 303
    assert answered(delivery)[1] == {"choice": nasty, nasty: nasty}


def test_the_example_of_the_documentation_runs(alices: Person, caller: AgentClient) -> None:
    section = PROTOCOL.read_text().split("## Typed blocks")[1]
    example = json.loads(section.split("```json\n")[1].split("```")[0])
    receipt = caller.post(caller.payload(type="question", details=example)).json()
    delivery = Delivery.objects.get(pk=receipt["delivery_id"])

    page = text_of(alices.see(delivery))
    choose(alices, delivery, "A", **{"choice-1": ["", "support", "sales"]})

    assert "could not be displayed" not in page
    assert "Which price do new teams see first? One price for everybody" in page
    assert answered(delivery) == (
        "redirected",
        {"choice": "A", "told": ["sales", "support"], "floor_eur": 10},
    )


def test_the_server_says_that_it_knows_blocks(client: Client) -> None:
    assert "wake_blocks" in client.get("/wake/v1").json()["extensions"]


@pytest.mark.parametrize("proposal", ["One\nTwo", {"to": "blog", "tags": ["a"]}, ""])
def test_an_edit_starts_with_the_proposal(
    alices: Person, make_delivery: MakeDelivery, proposal: Any
) -> None:
    blocks = [{"type": "markdown", "text": "The whole story."}]
    page = {"wake_blocks": 1, "proposal": proposal, "blocks": blocks}
    delivery = make_delivery(type="question", details_json=json.dumps(page))

    editor = alices.get(f"/deliveries/{delivery.pk}/edit").context["editor"]
    kind = "text" if isinstance(proposal, str) else "json"
    changed = "Three" if kind == "text" else '{"to": "mail"}'
    sent = alices.answer(delivery, "redirected", edited_content=changed, edited_as=kind)

    assert (json.loads(editor.text) if kind == "json" else editor.text) == proposal
    assert editor.kind == kind
    assert sent.status_code == 303
    assert answered(delivery)[1] == ("Three" if kind == "text" else {"to": "mail"})


@pytest.mark.parametrize("proposal", [None, 7, ["a"]])
def test_an_invalid_proposal_is_ignored(make_delivery: MakeDelivery, proposal: Any) -> None:
    page = {"wake_blocks": 1, "proposal": proposal, "blocks": []}

    original = Original.of(make_delivery(details_json=json.dumps(page)))

    assert original.json == json.dumps(page)
    assert not original.is_proposal


def test_a_long_label_is_shown_whole(alices: Person, make_delivery: MakeDelivery) -> None:
    long, question = "x" * 300, "q" * 300
    options = [{"id": "A", "label": long}, {"id": "B", "label": "y" * 200}]
    choice = {"type": "choice", "label": question, "options": options}

    html = alices.see(make_delivery(type="question", details_json=of(choice))).content.decode()

    assert f">{long}</bdi>" in html
    assert f">{question}</bdi>" in html


@pytest.mark.parametrize("edited_as", ["json", "text", "fields"])
def test_the_editor_sends_an_answer_and_not_the_word_chosen(
    edited_as: str, alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(type="question", details_json='{"amount": 1}')

    sent = choose(alices, delivery, "A", edited_as=edited_as, edited_content='{"amount": 2}')

    assert sent.status_code == 422
    assert "Choose an answer." in text_of(sent)
    assert not Response.objects.exists()
