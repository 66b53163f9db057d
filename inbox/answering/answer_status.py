"""Tells in one sentence whether the agent has an answer, and whether it can still be undone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from inbox.pages.panels import words
from inbox.pages.times import when
from inbox.pages.viewer import Viewer
from wake.models import Response

PICKED_UP: dict[str, str] = {
    Response.Route.CALLBACK: "Delivered by callback",
    Response.Route.CONNECTOR: "Fetched by the connector",
}


@dataclass(frozen=True, slots=True)
class AnswerStatus:
    """`outcome` is `Approved by Bob at 10:42.`, `pickup` is `Goes to the agent in 8 s.`"""

    outcome: str
    pickup: str
    can_be_undone: bool
    is_late: bool


def answer_status(response: Response, viewer: Viewer, *, at: datetime) -> AnswerStatus:
    """Returns the status of a response that is loaded with its delivery."""
    may_undo = response.by_id == viewer.user.pk or viewer.is_owner(response.delivery.team_id)
    answered = when(response.answered_at, now=at)
    return AnswerStatus(
        outcome=f"{response.get_status_display()} by {response.by_name} {answered}.",
        pickup=pickup_status(response, at=at),
        can_be_undone=may_undo and response.sent_at is None and not response.delivery.erased_at,
        is_late=response.is_late,
    )


def just_answered(viewer: Viewer, *, also: UUID | None, limit: int = 5) -> list[Response]:
    """Returns this person's held answers and the one to the delivery that they come from. Index:
    held_responses."""
    held = Q(by=viewer.user, responded_at__isnull=True)
    rows = Response.objects.filter(held | Q(delivery_id=also) if also else held)
    rows = rows.filter(delivery__team_id__in=viewer.team_ids).select_related("delivery")
    return list(rows.defer("delivery__details_json").order_by("-answered_at")[:limit])


def pickup_status(response: Response, *, at: datetime) -> str:
    """Returns whether the agent has the answer, in one sentence."""
    if response.picked_up_at is not None:
        return f"{picked_up(response.picked_up_by)} {when(response.picked_up_at, now=at)}."
    if response.delivery.is_closed:
        return "The task had already moved on, so the answer had no effect."
    if response.delivery.is_internal and response.responded_at is not None:
        return words("answer", response)
    if response.sent_at is not None:
        sent = when(response.sent_at, now=at)
        return f"Sent by callback {sent}, not confirmed yet."
    if response.responded_at is None and response.release_at > at:
        seconds = math.ceil((response.release_at - at).total_seconds())
        return f"Goes to the agent in {seconds} s."
    return "Waiting for the agent to fetch it."


def picked_up(route: str) -> str:
    """Returns how the agent got the answer, for example `Fetched by the agent`."""
    return PICKED_UP.get(route, "Fetched by the agent")
