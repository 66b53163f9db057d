"""Computes what the rules of a team would have done with existing deliveries. Changes nothing."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from accounts.models import ApiKey, Team
from wake.assignment.matching import LiveRule, first_match, in_runs, live_rules
from wake.models import Delivery, DeliveryQuerySet, Response, RuleVersion

DAYS = 30
MAX_TRIED = 500
SECONDS = 2.0
AT_ONCE = 50
MAX_NAMED = 5
COLUMNS = (
    *("team", "agent", "type", "thread", "headline", "status"),
    *("response__delivery", "response__rule_version"),
)


@dataclass(slots=True)
class Matched:
    """Counts the deliveries that a rule matches, and how many of them people answered and approved.
    Names the newest ones that people did not approve. Answers of rules do not count."""

    deliveries: int = 0
    answered: int = 0
    approved: int = 0
    not_approved: list[Delivery] = field(default_factory=list)

    def add(self, delivery: Delivery) -> None:
        self.deliveries += 1
        response: Response | None = getattr(delivery, "response", None)
        is_by_rule = response is not None and response.rule_version_id is not None
        if delivery.status == Delivery.Status.PENDING or is_by_rule:
            return
        self.answered += 1
        if delivery.status == Delivery.Status.APPROVED:
            self.approved += 1
        elif len(self.not_approved) < MAX_NAMED:
            self.not_approved.append(delivery)


@dataclass(frozen=True, slots=True)
class Replay:
    """Counts the tried deliveries, and says which of them each rule would have assigned, by the id
    of its version. `is_cut` is True if older deliveries were left out."""

    tried: int
    matched: dict[int, Matched]
    is_cut: bool

    @property
    def unmatched(self) -> int:
        return self.tried - sum(each.deliveries for each in self.matched.values())


def replay(team: Team, *, at: datetime) -> Replay:
    """Tries the live deliveries of the last 30 days, the newest first, until it has tried 500
    deliveries or two seconds are over. Index: history_of_a_team."""
    rules = live_rules(RuleVersion.objects.of_team(team))
    recent = Delivery.objects.for_team(team).filter(mode=ApiKey.Mode.LIVE)
    since = at - timedelta(days=DAYS)
    recent = recent.filter(activity_at__gte=since, created_at__gte=since).with_content()
    rows = _needed(recent, rules).order_by("-activity_at")[: MAX_TRIED + 1]
    runs = in_runs(rules)
    matched: defaultdict[int, Matched] = defaultdict(Matched)
    tried, stop_at = 0, time.monotonic() + SECONDS
    for delivery in rows.iterator(chunk_size=AT_ONCE):
        if tried == MAX_TRIED or time.monotonic() > stop_at:
            return Replay(tried, matched, is_cut=True)
        tried += 1
        if version := first_match(runs, delivery, at=at):
            matched[version.pk].add(delivery)
    return Replay(tried, matched, is_cut=False)


def version_of(delivery: Delivery, *, at: datetime) -> RuleVersion | None:
    """Returns the version of the first rule that matches this delivery now."""
    rules = live_rules(RuleVersion.objects.of_team(delivery.team_id))
    return first_match(in_runs(rules), delivery, at=at)


def _needed(rows: DeliveryQuerySet, rules: list[LiveRule[RuleVersion]]) -> DeliveryQuerySet:
    """Loads details only if a rule compares a value in them."""
    compares = any(rule.version.operator for rule in rules)
    columns = [*COLUMNS, *(["details_json"] if compares else [])]
    return rows.select_related("response").only(*columns)
