"""Compares what a rule says with what people answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count

from wake.models import AnsweringVersion, Trial
from wake.models.answering_rules import AGREED, CONTRADICTED

ENOUGH = 20
# At most one contradiction in so many answers of people.
ONE_IN = 100
NEWEST = 500
MOST_NAMED = 20
COLUMNS = (
    *("version", "created_at", "approved_at", "taken_back_at"),
    *("delivery__status", "delivery__headline"),
)


@dataclass(frozen=True, slots=True)
class Results:
    """Counts the newest deliveries that a version of a rule matches: those that people approved,
    and those that they did not. The newest of these are in `contradictions`."""

    agreed: int
    contradicted: int
    contradictions: Sequence[Trial] = ()

    @property
    def judged(self) -> int:
        return self.agreed + self.contradicted

    @property
    def is_enough(self) -> bool:
        """Returns whether the rule may be turned on without a reason."""
        return self.judged >= ENOUGH and not self.is_contradicted

    @property
    def is_contradicted(self) -> bool:
        """Returns whether people disagreed more often than a rule that is on may be wrong."""
        return self.contradicted * ONE_IN > self.judged


def results_of(version: AnsweringVersion, *, since: datetime | None = None) -> Results:
    """Makes one query. `since` leaves out older trials. Index: trials_of_a_version."""
    trials = Trial.objects.filter(version=version).judged()
    if since is not None:
        trials = trials.filter(created_at__gte=since)
    trials = trials.select_related("delivery").order_by("-created_at").only(*COLUMNS)
    newest = list(trials[:NEWEST])
    contradictions = [trial for trial in newest if trial.is_contradicted]
    return Results(
        agreed=len(newest) - len(contradictions),
        contradicted=len(contradictions),
        contradictions=contradictions[:MOST_NAMED],
    )


def results_of_all(versions: Sequence[AnsweringVersion]) -> dict[Any, Results]:
    """Counts all trials of several versions, by their ids, and names none. Makes one query."""
    rows = (
        Trial.objects.filter(version__in=versions)
        .order_by()
        .values("version")
        .annotate(agreed=Count("pk", filter=AGREED), other=Count("pk", filter=CONTRADICTED))
    )
    counted = {row["version"]: Results(row["agreed"], row["other"]) for row in rows}
    return {version.pk: counted.get(version.pk, Results(0, 0)) for version in versions}
