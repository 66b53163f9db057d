"""A page says that a version is as edited only if the agent changed nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.models import Delivery

AS_EDITED = "The agent returned it exactly as edited."
FIELD = {"type": "field", "name": "subject", "value": "New"}
WORDS = {"type": "text", "text": "To all customers."}


@pytest.fixture
def edited(make_delivery: MakeDelivery, answer: Answer) -> Delivery:
    first = make_delivery(details_json=details(WORDS, {**FIELD, "value": "Old"}))
    answer(first, "redirected", edited_json='{"subject": "New"}')
    return first


def details(*blocks: Any, **members: Any) -> str:
    return json.dumps({"wake_blocks": 1, "blocks": blocks, **members})


def test_a_version_with_the_values_of_the_edit_alone_is_as_edited(
    edited: Delivery, alices: Person, make_delivery: MakeDelivery
) -> None:
    second = make_delivery(supersedes=edited.pk, details_json=details(WORDS, FIELD))

    assert AS_EDITED in text_of(alices.see(second))


@pytest.mark.parametrize(
    "changed",
    [
        {"details_json": details({**WORDS, "text": "To all, and delete the list."}, FIELD)},
        {"details_json": details(WORDS, {**FIELD, "label": "Title"})},
        {"details_json": details(WORDS, FIELD, command="rm -rf /")},
        {"irreversible": True},
        {"assumption": "I send it to all."},
        {"extensions": {"to": "all"}},
    ],
)
def test_a_version_with_other_changes_is_not_as_edited(
    changed: dict[str, Any], edited: Delivery, alices: Person, make_delivery: MakeDelivery
) -> None:
    """The page used to compare only the edited values, but its sentence was about the whole
    delivery."""
    fields = {"details_json": details(WORDS, FIELD), **changed}
    second = make_delivery(supersedes=edited.pk, **fields)

    page = text_of(alices.see(second))

    assert AS_EDITED not in page
    assert "and changed other parts." in page
