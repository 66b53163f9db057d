"""Every form that answers a delivery takes any combination of its fields without a 500."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import Team, User
from tests.fixtures.strict_client import Client
from tests.stress.hostile.asking import examples
from tests.types import Answer, MakeDelivery
from wake.models import Delivery
from wake.withdrawals import withdraw

pytestmark = pytest.mark.slow

EXAMPLES = examples(150)
OPTIONS = [{"id": "A", "label": "One price"}, {"id": "B", "label": "Two", "recommended": True}]
CHOICE = {"type": "choice", "label": "Which price?", "options": OPTIONS}
SEVERAL = {**CHOICE, "name": "places", "label": "Where?", "multiple": True}
FIELDS = [
    {"type": "field", "name": "title", "label": "Title", "value": "Prices"},
    {"type": "field", "name": "floor", "label": "Floor", "kind": "number", "value": 10},
    {"type": "field", "name": "mail", "label": "Send mail", "kind": "boolean", "value": False},
]
BLOCKS = json.dumps({"wake_blocks": 1, "blocks": [CHOICE, SEVERAL, *FIELDS]})
DETAILS = [None, '"A text"', '{"amount": 1, "note": "x"}', '{"a": {"b": [1]}}', BLOCKS]
# The values that the inputs of the pages send. ODD is what only a changed page or a program sends.
ANSWER = {
    "status": ["approved", "rejected", "redirected", "chosen"],
    "edited_as": ["json", "text", "fields"],
    "edited_content": ["{", "[1]", '"a text"', '{"amount": 2, "note": "x"}', '{"choice": "Z"}'],
    "choice": ["A", "B", "Z"],
}
MORE = {
    "feedback": ["Shorter, please."],
    "choice-1": ["A", "B", "Z"],
    **{f"field-{place}": ["A", "12.50", "ten", "true"] for place in range(5)},
    "knows_replaced": ["true"],
    "credential": ["{}", '{"id": "x", "response": {}}'],
    "place": ["list", "page"],
    "view": ["raw", "fields", "preview"],
    "details": ["raw", "formatted"],
    "back": ["q=price"],
    "saved_reply": ["00000000-0000-0000-0000-000000000000"],
    "to": ["review", "later"],
    "note": ["Thank you."],
}
ODD = ["", "\0", "null", "9" * 5_000, "x" * 20_001, "\u202e", "expired"]
ACTIONS = ["response", "response", "response/options", "edit", "continue", "saved-replies", "undo"]
Form = dict[str, list[str]]


@st.composite
def odd_forms(draw: st.DrawFn) -> Form:
    """Draws an answer, some of the other fields, and at most one odd text, because a form with
    several odd texts would only be refused sooner."""
    form: Form = {}
    for name, values in ANSWER.items():
        form[name] = draw(st.lists(st.sampled_from(values), max_size=2))
    for name in draw(st.lists(st.sampled_from(sorted(MORE)), max_size=3, unique=True)):
        form[name] = [draw(st.sampled_from(MORE[name]))]
    if draw(st.integers(0, 3)) == 0:
        form[draw(st.sampled_from(sorted({*ANSWER, *MORE})))] = [draw(st.sampled_from(ODD))]
    return {name: texts for name, texts in form.items() if texts}


@pytest.fixture
def deliveries(
    team: Team, make_delivery: MakeDelivery, answer: Answer, settings: Any
) -> list[Delivery]:
    """Returns deliveries in every state that a form can meet."""
    settings.WAKE_HOLD_SECONDS = 10
    Team.objects.filter(pk=team.pk).update(signs_irreversible=True)
    shown = [make_delivery(details_json=details, type="question") for details in DETAILS]
    irreversible = make_delivery(irreversible=True, details_json=DETAILS[2])
    for_two = make_delivery(quorum=2, details_json=DETAILS[2])
    replaced = make_delivery(details_json=DETAILS[2])
    newer = make_delivery(details_json=BLOCKS, supersedes=replaced.pk)
    withdrawn = make_delivery()
    answered, undoable = make_delivery(details_json=BLOCKS), make_delivery()
    withdraw(Delivery.objects.filter(pk=withdrawn.pk), at=withdrawn.created_at)
    answer(answered)
    answer(undoable, held=True)
    return [*shown, irreversible, for_two, replaced, newer, withdrawn, answered, undoable]


@pytest.fixture
def alices(alice: User) -> Client:
    """Returns a browser that raises what fails in a view."""
    client = Client()
    client.force_login(alice)
    return client


@settings(max_examples=EXAMPLES)
@given(st.data(), st.sampled_from(ACTIONS), odd_forms())
def test_any_form_about_one_delivery(
    alices: Client, deliveries: list[Delivery], data: Any, action: str, form: Form
) -> None:
    delivery = data.draw(st.sampled_from(deliveries))
    if data.draw(st.booleans()):
        form["content_hash"] = [delivery.content_hash]

    with transaction.atomic():
        sent = alices.post(f"/deliveries/{delivery.pk}/{action}", form, by_hand=True)
        transaction.set_rollback(True)

    assert sent.status_code < 500


@settings(max_examples=EXAMPLES)
@given(st.data(), odd_forms())
def test_any_form_of_a_batch(
    alices: Client, deliveries: list[Delivery], data: Any, form: Form
) -> None:
    for delivery in data.draw(st.lists(st.sampled_from(deliveries), max_size=4, unique=True)):
        form.setdefault("id", []).append(str(delivery.pk))
        form[f"answer-{delivery.pk}"] = [data.draw(st.sampled_from([*ANSWER["status"], *ODD]))]
        form[f"hash-{delivery.pk}"] = [data.draw(st.sampled_from([delivery.content_hash, *ODD]))]
        if data.draw(st.booleans()):
            form.setdefault("read", []).append(str(delivery.pk))

    with transaction.atomic():
        sent = alices.post("/batch/answer", form, by_hand=True)
        result = alices.get(sent["Location"]) if sent.status_code == 303 else sent
        transaction.set_rollback(True)

    assert result.status_code < 500
