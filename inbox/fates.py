"""What became of an answer, in one sentence, and whether it can still be taken back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from inbox.moments import when
from inbox.viewer import Viewer
from wake.models import Delivery, Response


@dataclass(frozen=True, slots=True)
class Fate:
    """`Approved by Bob at 10:42.`, `Goes to the agent in 8 s.`; where it is late, one line more."""

    outcome: str
    whereabouts: str
    can_be_undone: bool
    is_late: bool


def fate(response: Response, viewer: Viewer, *, at: datetime) -> Fate:
    """`response.delivery` is loaded."""
    is_theirs = response.by_id == viewer.user.pk or viewer.is_owner(response.delivery.team_id)
    given = when(response.answered_at, now=at)
    return Fate(
        outcome=f"{response.get_status_display()} by {response.by_name} {given}.",
        whereabouts=whereabouts(response, at=at),
        can_be_undone=is_theirs and response.sent_at is None and not response.delivery.erased_at,
        is_late=response.is_late,
    )


def just_answered(viewer: Viewer, *, also: UUID | None, limit: int = 5) -> list[Response]:
    """What this person answered and the server still holds, and the delivery that they come from.
    Index: held_responses."""
    held = Q(by=viewer.user, responded_at__isnull=True)
    rows = Response.objects.filter(held | Q(delivery_id=also) if also else held)
    rows = rows.filter(delivery__team_id__in=viewer.team_ids).select_related("delivery")
    return list(rows.defer("delivery__details_json").order_by("-answered_at")[:limit])


def whereabouts(response: Response, *, at: datetime) -> str:
    if response.picked_up_at is not None:
        route = response.get_picked_up_by_display()
        return f"Picked up by {route} {when(response.picked_up_at, now=at)}."
    if response.delivery.is_closed:
        return "The task had moved on by then, so the answer changed nothing."
    if response.delivery.relayed and response.responded_at is not None:
        return _of_a_task(response)
    if response.sent_at is not None:
        left = when(response.sent_at, now=at)
        return f"Left for the agent by webhook {left}; the agent has not confirmed it yet."
    if response.responded_at is None and response.release_at > at:
        seconds = math.ceil((response.release_at - at).total_seconds())
        return f"Goes to the agent in {seconds} s."
    return "With the agent's post: not fetched yet."


def _of_a_task(response: Response) -> str:
    """Released: by then it has moved the task, and only a machine is still missing."""
    if response.delivery.type != Delivery.Type.QUESTION:
        return "Kept with the task, which waits for no answer."
    if response.status == Response.Status.REJECTED:
        return "The task has ended, and its caller can see why."
    return "Waiting for the agent's machine."
