"""Tries the assignment rules of a team on existing deliveries. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from accounts.access.objects import teams_of
from accounts.access.requests import PersonRequest
from accounts.models import Team
from database.clock import database_now
from database.uuids import uuid_or_none
from inbox.assignment.rule_views import rules_page
from inbox.assignment.sentences import Names
from pages.page import page
from wake.assignment import trying
from wake.assignment.trying import Matched
from wake.models import Delivery, RuleVersion

NOT_THERE = "There is no delivery with this ID in this team."


@dataclass(frozen=True, slots=True)
class TrialLine:
    """Holds a sentence of a result, and its deliveries."""

    sentence: str
    deliveries: list[Delivery] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Holds the lines of a result, and the delivery if only one was tried."""

    lines: list[TrialLine]
    delivery: Delivery | None = None


@require_safe
@page
def try_rules(request: PersonRequest, slug: str) -> HttpResponse:
    """Tries the rules on the delivery that the address names, or on all deliveries of the last 30
    days."""
    team = get_object_or_404(teams_of(request.user), slug=slug)
    text, now = request.GET.get("delivery", "").strip(), database_now()
    trial = _one(team, text, at=now) if text else _recent(team, at=now)
    return rules_page(request, team, trial=trial, tried_id=text)


def _one(team: Team, text: str, *, at: datetime) -> TrialResult:
    pk = uuid_or_none(text.rstrip("/").rpartition("/")[2])
    delivery = Delivery.objects.for_team(team).with_content().in_bulk([pk]).get(pk) if pk else None
    if delivery is None:
        return TrialResult([TrialLine(NOT_THERE)])
    version = trying.version_of(delivery, at=at)
    if version is None:
        everyone = "No rule matches it, so it would go to all owners and reviewers."
        return TrialResult([TrialLine(everyone)], delivery)
    people = Names.of(team).assigned(version)
    return TrialResult([TrialLine(f"It would go to {people} by “{version.rule.name}”.")], delivery)


def _recent(team: Team, *, at: datetime) -> TrialResult:
    replay, names = trying.replay(team, at=at), Names.of(team)
    days = f"the last {trying.DAYS} days"
    if not replay.tried:
        return TrialResult([TrialLine(f"Nothing was delivered in {days}.")])
    lines = []
    for version in RuleVersion.objects.of_team(team):
        if matched := replay.matched.get(version.pk):
            lines.append(
                TrialLine(
                    f"{matched.deliveries} of {replay.tried} would have gone to "
                    f"{names.assigned(version)} by “{version.rule.name}”."
                )
            )
            lines += _answers(matched)
    lines.append(TrialLine(f"{replay.unmatched} of {replay.tried} match no rule."))
    if replay.is_cut:
        lines.append(TrialLine(f"These are the newest {replay.tried} of {days}."))
    return TrialResult(lines)


def _answers(matched: Matched) -> list[TrialLine]:
    """Describes how people answered the deliveries that the rule matches."""
    if not matched.answered:
        return []
    line = f"People approved {matched.approved} of {matched.answered} answered deliveries."
    others = matched.answered - matched.approved
    if others > len(matched.not_approved):
        line += f" The newest {len(matched.not_approved)} of the other {others}:"
    elif others:
        line += " Not approved:"
    return [TrialLine(line, matched.not_approved)]
