"""Names an answer in the person's words: `Chose One price`, `Answered` or `Changes requested`."""

from __future__ import annotations

from contextlib import suppress

from database.encryption import Unreadable
from inbox.answering.editing.choices import chosen, questions
from inbox.answering.editing.edits import Original
from inbox.reading.status_words import status_words
from pages.characters.invisible import reveal_value
from wake.models import Response


def outcome_words(response: Response) -> str:
    """Returns the words for a response. The words name the chosen options only if the
    delivery's details were loaded, because a list must not load details row by row."""
    if labels := _chosen_labels(response):
        return f"Chose {reveal_value(', '.join(labels))}"
    return status_words(response.delivery.type, response.status)


def _chosen_labels(response: Response) -> list[str]:
    """Returns the labels of the chosen options. Returns an empty list for a rejection, for an
    answer in words only, and for a delivery without options."""
    delivery = response.delivery
    is_loaded = "details_json" not in delivery.get_deferred_fields()
    has_choice = response.status == Response.Status.APPROVED or response.edited_json is not None
    if not (has_choice and is_loaded):
        return []
    with suppress(Unreadable):
        original = Original.of(delivery)
        values = chosen(original, response.edited_json)
        return [
            option.label for question in questions(original, values) for option in question.chosen
        ]
    return []
