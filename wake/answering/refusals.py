"""Finds recent refusals by people, after which a rule leaves an agent's deliveries to people.

Nothing extra is stored, because the answers and the undone approvals show the refusals. So the
pause ends when a person takes the answer back. The pause also applies to versions and rules that
were added since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, Q

from accounts.models import ApiKey
from wake.assignment.details import Details
from wake.assignment.matching import LiveRule, live
from wake.models import AnsweringVersion, Delivery, Response, Trial
from wake.models.deliveries import DeliveryQuerySet

REFUSED = (Response.Status.REJECTED, Response.Status.REDIRECTED)
COLUMNS = ("agent", "type", "thread", "headline", "activity_at", "answered_at", "erased_at")
# A rule reads the details of at most this many refused deliveries of an agent. Any further delivery
# counts as matched, so that an approval never reads without end.
MAX_COMPARED = 50
UNDONE = "undone"

# The time of a refusal, the delivery, and how people refused it.
Refused = tuple[datetime, Delivery, str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Names a delivery that people rejected or redirected, or whose approval by the rule they undid
    (`how` is `undone`). Also says until when deliveries of its agent go to people."""

    delivery: Delivery
    how: str
    at: datetime
    until: datetime

    @property
    def agent_id(self) -> UUID:
        return self.delivery.agent_id


def newest_refusal(version: AnsweringVersion, agent_id: UUID, *, at: datetime) -> Refusal | None:
    """Returns the refusal that makes people answer the agent's deliveries now, or None if the rule
    may approve them. Call this function under the lock of the rule, because an answer that refuses
    waits for that lock. `version.rule` must be in its present state."""
    deliveries = Delivery.objects.of_agent(agent_id, ApiKey.Mode.LIVE)
    return next(_refusals(version, deliveries, at=at, most=MAX_COMPARED + 1), None)


def refusals(version: AnsweringVersion, *, at: datetime) -> list[Refusal]:
    """Returns the newest refusal of each agent, newest first."""
    deliveries = Delivery.objects.for_team(version.rule.team_id).filter(mode=ApiKey.Mode.LIVE)
    return list(_refusals(version, deliveries, at=at))


def _refusals(
    version: AnsweringVersion,
    deliveries: DeliveryQuerySet,
    *,
    at: datetime,
    most: int | None = None,
) -> Iterator[Refusal]:
    """Yields the newest refusal of each agent that counts now, newest first. Reads at most `most`
    refusals of each kind, which are enough for one agent."""
    lasts = timedelta(days=version.ask_people_days)
    since = at - lasts
    if version.rule.counts_refusals_after is not None:
        since = max(since, version.rule.counts_refusals_after)
    rule = live(version)
    found = [
        *_undone(version, deliveries, since, most),
        *_refused(_matched(rule, deliveries), since, most),
    ]
    done: set[UUID] = set()
    compared: Counter[UUID] = Counter()
    for refused_at, row, how in sorted(found, key=lambda each: each[0], reverse=True):
        agent_id = row.agent_id
        if agent_id in done:
            continue
        is_unread = how != UNDONE and row.erased_at is None and compared[agent_id] < MAX_COMPARED
        if rule.operator and is_unread:
            compared[agent_id] += 1
            if not _matches(rule, row, at=at):
                continue
        done.add(agent_id)
        yield Refusal(row, how, refused_at, refused_at + lasts)


def _undone(
    version: AnsweringVersion, deliveries: DeliveryQuerySet, since: datetime, most: int | None
) -> Iterator[Refused]:
    trials = Trial.objects.undone(version.rule_id, since=since)
    trials = trials.filter(delivery__in=deliveries.values("pk")).select_related("delivery")
    for trial in trials.defer("delivery__details_json")[:most]:
        undone_at: Any = trial.taken_back_at
        yield undone_at, trial.delivery, UNDONE


def _refused(deliveries: DeliveryQuerySet, since: datetime, most: int | None) -> Iterator[Refused]:
    """Yields the deliveries that people rejected or redirected after `since`, with their answers.
    Indexes: held_responses, answers_of_an_agent."""
    held = Response.objects.held().filter(status__in=REFUSED)
    # An answer is released after it was given, so its stamp is later, too.
    released = deliveries.after(since).with_statuses(REFUSED)
    for rows in (
        deliveries.filter(response__in=held).order_by("-answered_at"),
        released.order_by("-activity_at"),
    ):
        rows = rows.filter(answered_at__gt=since).annotate(answer=F("response__status"))
        for row in rows.only(*COLUMNS)[:most]:
            answered_at: Any = row.answered_at
            yield answered_at, row, vars(row)["answer"]


def _matched(rule: LiveRule[AnsweringVersion], deliveries: DeliveryQuerySet) -> DeliveryQuerySet:
    """Filters by all conditions of the rule except a value. An erased delivery still has its agent
    and its type, and nothing else to compare."""
    if rule.agents:
        deliveries = deliveries.filter(agent__in=rule.agents)
    if rule.types:
        deliveries = deliveries.filter(type__in=rule.types)
    if rule.thread_prefix:
        in_thread = Q(thread__startswith=rule.thread_prefix)
        deliveries = deliveries.filter(in_thread | Q(erased_at__isnull=False))
    return deliveries


def _matches(rule: LiveRule[AnsweringVersion], row: Delivery, *, at: datetime) -> bool:
    """Returns whether the rule matches a delivery. Reads the details and does not keep them."""
    whole = Delivery.objects.only(*COLUMNS, "details_json").get(pk=row.pk)
    return whole.erased_at is not None or rule.matches(whole, Details(whole), at=at)
