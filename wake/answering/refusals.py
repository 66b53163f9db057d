"""Finds what people refused lately, after which a rule leaves an agent's deliveries to people.

Nothing is stored for it: the answers and undone approvals say it. So it ends when a person takes
the answer back, and it also holds for a version of the rule, or a rule, that was added since.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F

from accounts.models import ApiKey
from wake.assignment.details import Details
from wake.assignment.matching import LiveRule, live
from wake.models import AnsweringVersion, Delivery, Response, Trial
from wake.models.deliveries import DeliveryQuerySet

REFUSED = (Response.Status.REJECTED, Response.Status.REDIRECTED)
COLUMNS = ("agent", "type", "thread", "headline", "activity_at", "answered_at", "erased_at")
ROWS_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Refusal:
    """Names a delivery that people rejected or redirected, or whose approval by the rule they
    undid (`how` is `undone`), and until when deliveries of its agent go to people."""

    delivery: Delivery
    how: str
    at: datetime
    until: datetime

    @property
    def agent_id(self) -> UUID:
        return self.delivery.agent_id


def newest_refusal(version: AnsweringVersion, agent_id: UUID, *, at: datetime) -> Refusal | None:
    """Returns why deliveries of the agent go to people now; None if the rule may approve them.

    Call it under the lock of the rule, for which an answer that refuses waits. `version.rule` is
    as it is now."""
    deliveries = Delivery.objects.of_agent(agent_id, ApiKey.Mode.LIVE)
    return next(_refusals(version, deliveries, at=at), None)


def refusals(version: AnsweringVersion, *, at: datetime) -> list[Refusal]:
    """Returns the newest of each agent, the newest first."""
    deliveries = Delivery.objects.for_team(version.rule.team_id).filter(mode=ApiKey.Mode.LIVE)
    newest: dict[UUID, Refusal] = {}
    for refusal in _refusals(version, deliveries, at=at):
        known = newest.get(refusal.agent_id)
        if known is None or known.at < refusal.at:
            newest[refusal.agent_id] = refusal
    return sorted(newest.values(), key=lambda refusal: refusal.at, reverse=True)


def _refusals(
    version: AnsweringVersion, deliveries: DeliveryQuerySet, *, at: datetime
) -> Iterator[Refusal]:
    """Yields the refusals among these deliveries that count now. Those of one kind come the newest
    first: undone approvals, then held answers, then released ones."""
    lasts = timedelta(days=version.ask_people_days)
    since = at - lasts
    if version.rule.counts_refusals_after is not None:
        since = max(since, version.rule.counts_refusals_after)
    undone = Trial.objects.undone(version.rule_id, since=since).filter(
        delivery__in=deliveries.values("pk")
    )
    for trial in undone.select_related("delivery").defer("delivery__details_json"):
        undone_at: Any = trial.taken_back_at
        yield Refusal(trial.delivery, "undone", undone_at, undone_at + lasts)
    rule = live(version)
    for row, how in _refused(deliveries, since, with_details=bool(rule.operator)):
        if _matches(rule, row, at=at):
            answered_at: Any = row.answered_at
            yield Refusal(row, how, answered_at, answered_at + lasts)


def _refused(
    deliveries: DeliveryQuerySet, since: datetime, *, with_details: bool
) -> Iterator[tuple[Delivery, str]]:
    """Yields what people rejected or redirected after `since`, with its answer. Indexes:
    held_responses, answers_of_an_agent."""
    held = Response.objects.held().filter(status__in=REFUSED)
    # An answer is released after it was given, so its stamp is later, too.
    released = deliveries.after(since).with_statuses(REFUSED)
    for rows in (
        deliveries.filter(response__in=held).order_by("-answered_at"),
        released.order_by("-activity_at"),
    ):
        rows = rows.filter(answered_at__gt=since).annotate(answer=F("response__status"))
        rows = rows.only(*COLUMNS, *(["details_json"] if with_details else []))
        for row in rows.iterator(chunk_size=ROWS_AT_ONCE):
            yield row, vars(row)["answer"]


def _matches(rule: LiveRule[AnsweringVersion], row: Delivery, *, at: datetime) -> bool:
    """Returns whether the rule matches it; of erased content, only agent and type are known."""
    if row.erased_at is not None:
        return rule.is_for(row.agent_id, row.type)
    return rule.matches(row, Details(row), at=at)
