"""Names the status of an answer: `Approved`, `Answered` or `Changes requested`.

The protocol uses the word `redirected` for every answer besides yes and no."""

from __future__ import annotations

from wake.models import Delivery, Response

ANSWERED, CHANGES_REQUESTED = "Answered", "Changes requested"
# For counts and choices that cover several types.
STATUS_LABELS = {
    **dict(Response.Status.choices),
    Response.Status.REDIRECTED.value: "Changed or answered",
}


def status_words(type: str, status: str) -> str:
    """Returns the words for a status; works for deliveries and for responses."""
    if status == Response.Status.REDIRECTED:
        return CHANGES_REQUESTED if type == Delivery.Type.OUTPUT else ANSWERED
    return Delivery.Status(status).label
