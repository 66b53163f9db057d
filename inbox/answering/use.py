"""Says whether an approval was used, and what the agent reported afterwards."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef

from accounts.models import User
from database.encryption import Unreadable
from pages.times import when
from wake.models import Claim, Delivery, Failure, Outcome, Response, claimable_until

USABLE = {Response.Status.APPROVED, Response.Status.REDIRECTED}
WORDS: dict[str, str] = {
    Outcome.Status.DONE: "Done",
    Outcome.Status.FAILED: "Failed",
    Outcome.Status.SKIPPED: "Not done",
}
DID = {
    Response.Status.APPROVED: "approved",
    Response.Status.REJECTED: "rejected",
    Response.Status.REDIRECTED: "answered",
}


@dataclass(frozen=True, slots=True)
class Report:
    """Holds an outcome as people read it: `title` is `Done`, and `details` is JSON or a text."""

    title: str
    reported_at: datetime
    summary: str
    details: str
    is_failure: bool


def use_of(response: Response, *, at: datetime) -> str:
    """Returns `Used at 10:13 by Refunds.` or `Not used yet.` Returns an empty text if the answer
    cannot be used, or if the agent did not ask for a digest. The response must be loaded with its
    delivery and its claim."""
    claim: Claim | None = getattr(response, "claim", None)
    if claim is not None:
        return f"Used {when(claim.claimed_at, now=at)} by {claim.gate_name or 'the agent'}."
    delivery = response.delivery
    is_usable = response.status in USABLE and response.responded_at is not None
    if not (is_usable and delivery.wants_digest):
        return ""
    ends_at = claimable_until(delivery, response)
    if ends_at is None:
        return "Not used yet."
    if ends_at < at:
        return f"Never used. The agent had until {when(ends_at, now=at).removeprefix('at ')}."
    return f"Not used yet. The agent can use it until {when(ends_at, now=at).removeprefix('at ')}."


def answered_by(response: Response, type: str, user: User, *, you: str = "You") -> str:
    """Returns `You approved`, `bob answered`, or `bob requested changes` to an output."""
    who = you if response.by_id == user.pk else response.by_name
    if response.status == Response.Status.REDIRECTED and type == Delivery.Type.OUTPUT:
        return f"{who} requested changes"
    return f"{who} {DID[Response.Status(response.status)]}"


def reports_of(delivery: Delivery) -> list[Report]:
    """Returns the outcomes of a delivery, oldest first. Makes one query. Index:
    outcomes_of_a_delivery."""
    outcomes = Outcome.objects.filter(delivery=delivery).order_by("reported_at", "pk")
    return [
        Report(
            title=WORDS[outcome.status],
            reported_at=outcome.reported_at,
            summary=outcome.summary,
            details=_text(outcome),
            is_failure=outcome.status == Outcome.Status.FAILED,
        )
        for outcome in outcomes
    ]


def failure_of(delivery: Delivery) -> Failure | None:
    """Returns the failure of an approved action. The delivery comes from `find_delivery`. Makes no
    query if the agent reported nothing."""
    if not vars(delivery).get("has_outcomes") or delivery.status not in Delivery.USABLE:
        return None
    return Failure.objects.filter(delivery=delivery).first()


def newest_outcomes(delivery_ids: Collection[UUID]) -> dict[UUID, Outcome]:
    """Returns the newest outcome of each delivery that has one. Makes one query, or no query if
    there are no deliveries. Index: outcomes_of_a_delivery."""
    if not delivery_ids:
        return {}
    later = Outcome.objects.filter(
        delivery=OuterRef("delivery"), reported_at__gt=OuterRef("reported_at")
    )
    newest = Outcome.objects.filter(~Exists(later), delivery__in=delivery_ids)
    rows = newest.defer("details_json").order_by("pk")
    return {outcome.delivery_id: outcome for outcome in rows}


def summary_of(outcome: Outcome) -> str:
    """Returns the summary. Returns an empty text if the summary's encryption key is missing, so
    that the other rows of a list still appear."""
    try:
        return outcome.summary
    except Unreadable:
        return ""


def _text(outcome: Outcome) -> str:
    details = outcome.details
    return details if isinstance(details, str) else outcome.details_json or ""
