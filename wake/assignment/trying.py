"""Says what the rules of a team would have done with deliveries that are there already. It changes
nothing."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.models import ApiKey, Team
from wake.assignment.matching import LiveRule, first_match, live_rules
from wake.models import Delivery, DeliveryQuerySet, RuleVersion

DAYS = 30
MOST_TRIED = 500
SECONDS = 2.0
AT_ONCE = 50
COLUMNS = ("team", "agent", "type", "thread")


@dataclass(frozen=True, slots=True)
class Replay:
    """Counts the deliveries that were tried, and how many of them each rule would have assigned, by
    the id of its version. `is_cut` says that there are older ones, which were left out."""

    tried: int
    counts: Counter[int]
    is_cut: bool


def replay(team: Team, *, at: datetime) -> Replay:
    """Tries the live deliveries of the last 30 days, the newest first, until it has tried 500 or
    two seconds are over. Index: history_of_a_team."""
    rules = live_rules(RuleVersion.objects.of_team(team))
    recent = Delivery.objects.for_team(team).filter(mode=ApiKey.Mode.LIVE)
    since = at - timedelta(days=DAYS)
    recent = recent.filter(activity_at__gte=since, created_at__gte=since).with_content()
    rows = _needed(recent, rules).order_by("-activity_at")[: MOST_TRIED + 1]
    counts: Counter[int] = Counter()
    tried, stop_at = 0, time.monotonic() + SECONDS
    for delivery in rows.iterator(chunk_size=AT_ONCE):
        if tried == MOST_TRIED or time.monotonic() > stop_at:
            return Replay(tried, counts, is_cut=True)
        tried += 1
        if version := first_match(rules, delivery, at=at):
            counts[version.pk] += 1
    return Replay(tried, counts, is_cut=False)


def version_of(delivery: Delivery, *, at: datetime) -> RuleVersion | None:
    """Returns what the first rule that matches this delivery now says."""
    return first_match(live_rules(RuleVersion.objects.of_team(delivery.team_id)), delivery, at=at)


def _needed(rows: DeliveryQuerySet, rules: list[LiveRule]) -> DeliveryQuerySet:
    """Loads details only if a rule compares a value in them."""
    compares = any(rule.version.operator for rule in rules)
    return rows.only(*COLUMNS, *(["details_json"] if compares else []))
