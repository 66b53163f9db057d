"""Compares the results of a rule with people's answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from django.db.models import Q

from database.batched_queries import load_first_of_each
from wake.models import AnsweringVersion, Trial

ENOUGH = 20
# A rule that is on may contradict people at most once in this many answers.
ONE_IN = 100
NEWEST = 100
MAX_NAMED = 20
COLUMNS = (
    *("version", "created_at", "approved_at", "taken_back_at"),
    *("delivery__type", "delivery__status", "delivery__headline"),
)


@dataclass(frozen=True, slots=True)
class Results:
    """Counts the newest deliveries that a version of a rule matches: those that people approved,
    and those that people did not approve. `contradictions` has the newest of the deliveries that
    people did not approve."""

    agreed: int
    contradicted: int
    contradictions: Sequence[Trial] = ()

    @property
    def judged(self) -> int:
        return self.agreed + self.contradicted

    @property
    def is_enough(self) -> bool:
        """Returns whether the rule may be turned on without giving a reason."""
        return self.judged >= ENOUGH and not self.is_contradicted

    @property
    def is_contradicted(self) -> bool:
        """Returns whether people disagreed too often for a rule that is on."""
        return self.contradicted * ONE_IN > self.judged


def results_of(version: AnsweringVersion, *, since: datetime | None = None) -> Results:
    """Returns the results of the version, without trials before `since`. Makes one query."""
    return results_of_all([version], since=since)[version.pk]


def results_of_all(
    versions: Sequence[AnsweringVersion], *, since: datetime | None = None, newest: int = NEWEST
) -> dict[int, Results]:
    """Returns the results of each version, by the version's id. They count the `newest` judged
    trials of each version. Makes one query. Index: trials_of_a_version."""
    recent = Q(created_at__gte=since) if since else Q()
    judged = Trial.objects.filter(recent).judged().order_by("-created_at", "-pk")
    rows = load_first_of_each(
        [judged.filter(version=version.pk) for version in versions],
        newest,
        columns=lambda rows: rows.select_related("delivery").only(*COLUMNS),
    )
    trials: dict[int, list[Trial]] = {version.pk: [] for version in versions}
    for trial in sorted(rows, key=attrgetter("created_at", "pk"), reverse=True):
        trials[trial.version_id].append(trial)
    return {pk: _results(each) for pk, each in trials.items()}


def _results(judged: Sequence[Trial]) -> Results:
    contradictions = [trial for trial in judged if trial.is_contradicted]
    return Results(
        agreed=len(judged) - len(contradictions),
        contradicted=len(contradictions),
        contradictions=contradictions[:MAX_NAMED],
    )
