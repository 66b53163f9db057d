"""Names an answer as the person gave it: `Chose One price`, `Answered` or `Changes requested`.

The protocol has one word, `redirected`, for all answers that are neither yes nor no."""

from __future__ import annotations

from contextlib import suppress

from database.encryption import Unreadable
from inbox.answering.editing.choices import chosen, questions
from inbox.answering.editing.edits import Original
from pages.characters.invisible import reveal
from wake.models import Delivery, Response

ANSWERED, CHANGES_REQUESTED = "Answered", "Changes requested"
# For counts and choices, which have no one type.
STATUS_LABELS = {
    **dict(Response.Status.choices),
    Response.Status.REDIRECTED.value: "Changed or answered",
}


def outcome_words(response: Response) -> str:
    """Returns the words for a response. The options are named only if the delivery's details were
    loaded, because a list must not load them row by row."""
    if labels := _chosen_labels(response):
        return f"Chose {reveal(', '.join(labels))}"
    return status_words(response.delivery.type, response.status)


def status_words(type: str, status: str) -> str:
    """Returns the words for a status; works for deliveries and for responses."""
    if status == Response.Status.REDIRECTED:
        return CHANGES_REQUESTED if type == Delivery.Type.OUTPUT else ANSWERED
    return Delivery.Status(status).label


def _chosen_labels(response: Response) -> list[str]:
    """Returns the labels of the options that the answer chose; none for a rejection, an answer in
    words only, and without options."""
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
