"""Describes in one sentence whether the agent has an answer, and whether the person can still undo
it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from accounts.access.viewer import Viewer
from inbox.answering.outcome_words import outcome_words
from pages.panels import status_of
from pages.times import when
from wake.models import Callback, Response

PICKED_UP: dict[str, str] = {
    Response.Route.CALLBACK: "Delivered by callback",
    Response.Route.CONNECTOR: "Fetched by the connector",
    Response.Route.OUTCOME: "The agent reported an outcome",
    Response.Route.CLAIM: "Approval used",
    Response.Route.RECEIPT: "Receipt fetched",
}
CAN_BE_FETCHED = "Nothing is lost: the agent can still fetch the answer."


@dataclass(frozen=True, slots=True)
class AnswerStatus:
    """Describes an answer: `title` is `Approved`, `outcome` is `Approved by Bob at 10:42.`, and
    `pickup` is `Goes to the agent in 8 s.`"""

    title: str
    outcome: str
    pickup: str
    can_be_undone: bool
    is_late: bool


def answer_status(
    response: Response, viewer: Viewer, *, has_voted: bool = False, at: datetime
) -> AnswerStatus:
    """Returns the status of a response. The response must be loaded with its delivery and its
    callback."""
    team_id = response.delivery.team_id
    may_undo = (
        response.by_id == viewer.user.pk
        or viewer.is_owner(team_id)
        or ((has_voted or response.rule_version_id is not None) and viewer.may_answer(team_id))
    )
    answered = when(response.answered_at, now=at)
    title = outcome_words(response)
    return AnswerStatus(
        title=title,
        outcome=f"{title} by {response.by_name} {answered}.",
        pickup=pickup_status(response, at=at),
        can_be_undone=may_undo and response.sent_at is None and not response.delivery.erased_at,
        is_late=response.is_late,
    )


def just_answered(viewer: Viewer, *, also: UUID | None, limit: int = 20) -> list[Response]:
    """Returns this person's held answers, newest first. Includes the answer to the delivery `also`,
    from whose page the person comes. Index: held_responses."""
    is_theirs = Q(by=viewer.user, responded_at__isnull=True)
    if also is not None:
        is_theirs |= Q(delivery=also)
    rows = Response.objects.filter(is_theirs, delivery__team__in=list(viewer.team_ids))
    return list(with_callback(rows.select_related("delivery")).order_by("-answered_at")[:limit])


def with_callback(rows: QuerySet[Response]) -> QuerySet[Response]:
    """Loads the state of each callback, but not its request."""
    return rows.select_related("callback").defer("callback__body", "callback__headers_ciphertext")


def pickup_status(response: Response, *, at: datetime) -> str:
    """Returns whether the agent has the answer, in one sentence."""
    if response.picked_up_at is not None:
        return f"{picked_up(response.picked_up_by)} {when(response.picked_up_at, now=at)}."
    if response.delivery.is_closed:
        return "The task had already moved on, so the answer had no effect."
    if response.delivery.is_internal and response.responded_at is not None:
        return status_of("answer", response)
    if response.sent_at is not None:
        return _callback_status(response, response.sent_at, at=at)
    if response.responded_at is None and response.release_at > at:
        seconds = math.ceil((response.release_at - at).total_seconds())
        return f"Goes to the agent in {seconds} s."
    return "Waiting for the agent to fetch it."


def _callback_status(response: Response, sent_at: datetime, *, at: datetime) -> str:
    """Returns the state of an unconfirmed callback that was sent."""
    callback: Callback | None = getattr(response, "callback", None)
    if callback is None:
        return f"Sent by callback {when(sent_at, now=at)}, not confirmed yet."
    is_sending = callback.leased_until is not None and callback.leased_until > at
    failed = callback.tries - is_sending  # an attempt counts from its start
    times = "once" if failed == 1 else f"{failed} times"
    if callback.given_up_at is not None:
        return f"The callback failed {times}. {CAN_BE_FETCHED}"
    if callback.due_at is None:
        return f"The callback is suspended. {CAN_BE_FETCHED}"
    if failed <= 0:
        return f"Sent by callback {when(sent_at, now=at)}, not confirmed yet."
    if is_sending or callback.due_at <= at:
        return f"The callback failed {times}. Trying again now."
    return f"The callback failed {times}. The next attempt is {when(callback.due_at, now=at)}."


def picked_up(route: str) -> str:
    """Returns how the answer went out, for example `Fetched by the agent`."""
    return PICKED_UP.get(route, "Fetched by the agent")
