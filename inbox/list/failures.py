"""Builds the rows of actions that failed after a person approved them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self
from uuid import UUID

from accounts.access.viewer import Viewer
from inbox.answering.use import answered_by, summary_of
from inbox.reading.done import Done
from inbox.reading.rows import DeliveryRow, row_of
from wake.models import Delivery


@dataclass(frozen=True, slots=True)
class FailureRow:
    """Shows one failure. `words` is `Failed after you approved`; the agent wrote the `summary`."""

    row: DeliveryRow
    words: str
    answered_at: datetime
    failed_at: datetime
    summary: str
    is_open: bool
    done: Done | None = None

    @property
    def may_be_acknowledged(self) -> bool:
        return self.is_open and self.row.may_answer

    def with_done(self, entries: Mapping[UUID, Done]) -> Self:
        entry = None if self.is_open else entries.get(self.row.delivery.pk)
        return replace(self, done=entry)


def failure_row(delivery: Delivery, viewer: Viewer, *, at: datetime) -> FailureRow:
    """Builds a row from a `listed` delivery, which is loaded with its failure and its response."""
    response, failure = delivery.response, delivery.failure
    answered = answered_by(response, delivery.type, viewer.user, you="you")
    return FailureRow(
        row=row_of(delivery, viewer, at=at),
        words=f"Failed after {answered}",
        answered_at=response.answered_at,
        failed_at=failure.failed_at,
        summary=summary_of(failure.outcome),
        is_open=failure.acknowledged_at is None,
    )
