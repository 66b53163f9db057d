"""Shows the rules of a team. Owners order the team's assignment rules, and turn them on and off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST, require_safe

from accounts.access.objects import is_owner, teams_of
from accounts.access.owners import team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.models import Team
from accounts.teams.own_teams import own_teams
from database.clock import database_now
from inbox.assignment.answering_rule_views import answering_lines
from inbox.assignment.rule_counts import count_rules
from inbox.assignment.rule_kinds import ASSIGNING
from inbox.assignment.sentences import Names, assigns, escalates, matches
from pages.page import page
from pages.redirects import SeeOther
from pages.settings import settings_page
from wake.answering.rules import MAX_RULES as MAX_ANSWERING
from wake.assignment import rules
from wake.models import Rule, RuleVersion


@require_safe
@page
def rule_settings(request: PersonRequest) -> HttpResponse:
    """Shows the rules of the person's team, or lists their teams."""
    teams = own_teams(request.user)
    if len(teams) == 1:
        return rules_page(request, teams[0].team)
    counts = count_rules([own.team.pk for own in teams])
    lines = [(own, counts[own.team.pk]) for own in teams]
    return settings_page(request, "inbox/assignment/rules/list.html", lines=lines)


@require_safe
@page
def team_rules(request: PersonRequest, slug: str) -> HttpResponse:
    return rules_page(request, get_object_or_404(teams_of(request.user), slug=slug))


@require_POST
@page
def move_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Moves the rule one place in the direction of `to`: `up` or `down`."""
    up = request.POST.get("to") == "up"
    return _changed(request, slug, pk, lambda rule, **given: rules.move(rule, up=up, **given))


@require_POST
@page
def switch_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Turns the rule on or off, depending on `state`."""
    on = request.POST.get("state") == Rule.State.ON
    return _changed(request, slug, pk, lambda rule, **given: rules.switch(rule, on=on, **given))


def rules_page(request: PersonRequest, team: Team, **context: Any) -> HttpResponse:
    """Renders the list of a team's rules of both kinds, which every member may see."""
    names, now = Names.of(team), database_now()
    lines = [
        {
            "version": version,
            "rule": version.rule,
            "matches": matches(version, names),
            "assigns": assigns(version, names),
            "escalates": escalates(version, names),
            "is_over": version.expires_at <= now,
        }
        for version in RuleVersion.objects.of_team(team)
    ]
    can_change = is_owner(request.user, team.pk)
    is_full = len(lines) >= rules.MAX_RULES
    has_other_teams = teams_of(request.user).count() > 1
    context = {"team": team, "lines": lines, "now": now, "is_full": is_full, **context}
    context["has_other_teams"] = has_other_teams
    context["answering"] = answering_lines(team, names, now=now)
    context["answering_is_full"] = len(context["answering"]) >= MAX_ANSWERING
    return settings_page(
        request, "inbox/assignment/rules/of_a_team.html", can_change=can_change, **context
    )


def _changed(
    request: PersonRequest, slug: str, pk: UUID, change: Callable[..., object]
) -> HttpResponse:
    """Makes the change unless the rules have changed since the page was made."""
    team = team_of_an_owner(request, slug, refusal=ASSIGNING.refused)
    rule = ASSIGNING.newest(team, pk).rule
    try:
        change(rule, by=actor(request), at=database_now(), **ASSIGNING.seen_in(request))
    except rules.RulesChanged as reason:
        messages.warning(request, str(reason))
    return SeeOther("settings-team-rules", slug=team.slug)
