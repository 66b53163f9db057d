"""Shows an answering rule, the approvals that it gave, and the approvals that it would have given
in the dry run. Owners turn the rule on and off."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.timezone import is_aware
from django.views.decorators.http import require_POST, require_safe

from accounts.access.objects import is_owner, teams_of
from accounts.access.owners import team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.models import Team
from accounts.sign_in.reauthentication import ask_if_stale
from database.clock import database_now
from inbox.assignment.rule_kinds import ANSWERING
from inbox.assignment.sentences import Names, matches
from pages.page import page, posted_text
from pages.redirects import SeeOther
from pages.settings import settings_page
from wake.answering import results, rules
from wake.answering.refusals import refusals
from wake.assignment.rules import RulesChanged
from wake.models import AnsweringRule, AnsweringVersion, Trial

AT_ONCE = 50
LONGEST_REASON = 280


def answering_lines(team: Team, names: Names, *, now: datetime) -> list[dict[str, Any]]:
    """Returns a line for each answering rule of the team. Makes two queries."""
    versions = list(AnsweringVersion.objects.of_team(team))
    counted = results.results_of_all(versions)
    return [
        {
            "version": version,
            "rule": version.rule,
            "matches": matches(version, names),
            "results": counted[version.pk],
            "is_over": version.expires_at <= now,
        }
        for version in versions
    ]


@require_safe
@page
def answering_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Shows a rule, people's answers to the deliveries that the rule matches, and the rule's
    approvals."""
    team = get_object_or_404(teams_of(request.user), slug=slug)
    return _rule_page(request, team, ANSWERING.newest(team, pk))


@require_POST
@page
def switch_answering_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Turns the rule on, off, or back to a dry run, depending on `state`. To turn the rule on, the
    person gives their password again."""
    team = team_of_an_owner(request, slug, refusal=ANSWERING.refused)
    version, state = ANSWERING.newest(team, pk), request.POST.get("state")
    is_on, is_shadow = state == AnsweringRule.State.ON, state == AnsweringRule.State.SHADOW
    if is_on and (stale := ask_if_stale(request)):
        return stale
    reason = posted_text(request, "reason")[:LONGEST_REASON]
    given: dict[str, Any] = {
        "by": actor(request),
        "at": database_now(),
        **ANSWERING.seen_in(request),
    }
    try:
        if is_on:
            rules.turn_on(version.rule, reason=reason, **given)
        else:
            rules.turn_off(version.rule, shadow=is_shadow, **given)
    except rules.NotTriedEnough as problem:
        return _rule_page(request, team, version, problem=str(problem), typed=reason)
    except RulesChanged as changed:
        messages.warning(request, str(changed))
    return SeeOther("settings-answering-rule", slug=team.slug, pk=pk)


@require_POST
@page
def answer_again(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Ends the time in which deliveries go to people after a refusal. `seen` is the time of the
    newest refusal on the page. The person gives their password again."""
    team = team_of_an_owner(request, slug, refusal=ANSWERING.refused)
    rule = ANSWERING.newest(team, pk).rule
    if stale := ask_if_stale(request):
        return stale
    seen = _time(request.POST.get("seen", ""))
    given: dict[str, Any] = {
        "by": actor(request),
        "at": database_now(),
        **ANSWERING.seen_in(request),
    }
    if seen is not None:
        try:
            rules.answer_again(rule, seen=seen, **given)
        except RulesChanged as changed:
            messages.warning(request, str(changed))
    return SeeOther("settings-answering-rule", slug=team.slug, pk=pk)


def _rule_page(
    request: PersonRequest, team: Team, version: AnsweringVersion, **context: Any
) -> HttpResponse:
    names, now = Names.of(team), database_now()
    approved = Trial.objects.approved_by(version.rule_id).select_related("delivery")
    pages = Paginator(approved.defer("delivery__details_json"), AT_ONCE)
    context = {
        "team": team,
        "rule": version.rule,
        "version": version,
        "matches": matches(version, names),
        "results": results.results_of(version),
        "enough": results.ENOUGH,
        "is_over": version.expires_at <= now,
        "approved": pages.get_page(request.GET.get("page")),
        "refusals": _refusal_lines(version, names, now=now),
        "can_change": is_owner(request.user, team.pk),
        "now": now,
        **context,
    }
    response = settings_page(request, "inbox/assignment/rules/answering_rule.html", **context)
    if "problem" in context:
        response.status_code = 422
    return response


def _refusal_lines(
    version: AnsweringVersion, names: Names, *, now: datetime
) -> list[dict[str, Any]]:
    """Returns why people now answer the deliveries that the rule matches, with a line for each
    agent."""
    if version.expires_at <= now:
        return []
    return [
        {"refusal": each, "agent": names.agents.get(str(each.agent_id), "")}
        for each in refusals(version, at=now)
    ]


def _time(text: str) -> datetime | None:
    """Reads a time that the page wrote; returns None for any other text."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if is_aware(instant) else None
