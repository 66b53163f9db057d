"""Describes in the history what came of an answer: whether it was used, and what its agent
reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from accounts.access.viewer import Viewer
from inbox.answering.use import WORDS, answered_by, summary_of
from wake.models import Claim, Delivery, Outcome, Response


@dataclass(frozen=True, slots=True)
class Step:
    """Holds one step: its words (`You approved` or `done`), its time, and the agent's summary."""

    words: str
    at: datetime
    summary: str = ""
    is_failure: bool = False


def steps_of(delivery: Delivery, outcomes: Mapping[UUID, Outcome], viewer: Viewer) -> list[Step]:
    """Returns the steps, oldest first, or an empty list if the answer was not used and has no
    outcome. A response of the delivery must be loaded with its claim."""
    response: Response | None = getattr(delivery, "response", None)
    claim: Claim | None = getattr(response, "claim", None)
    outcome = outcomes.get(delivery.pk)
    if claim is None and outcome is None:
        return []
    steps = []
    if response is not None:
        words = answered_by(response, delivery.type, viewer.user)
        steps.append(Step(words, response.answered_at))
    if claim is not None:
        steps.append(Step("used", claim.claimed_at))
    if outcome is not None:
        steps.append(_reported(outcome))
    return steps


def _reported(outcome: Outcome) -> Step:
    return Step(
        WORDS[outcome.status].lower(),
        outcome.reported_at,
        summary_of(outcome),
        is_failure=outcome.status == Outcome.Status.FAILED,
    )
