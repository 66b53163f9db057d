"""Shows the assignment rules of a team; owners change them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.access.objects import is_owner, teams_of
from accounts.access.owners import team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.models import Team
from database.clock import database_now
from inbox.assignment.answering_rule_views import answering_lines
from inbox.assignment.forms import RuleForm, initial_of
from inbox.assignment.rule_counts import count_rules
from inbox.assignment.sentences import Names, assigns, escalates, matches
from inbox.people.teams.teams import own_teams
from pages.confirmation import confirmation_page
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted, settings_page
from wake.answering.rules import MOST_RULES as MOST_ANSWERING
from wake.assignment import rules
from wake.models import Rule, RuleVersion

REFUSED = "Only team owners can change assignment rules"
MOST_DIGITS = 18


@require_safe
@page
def rule_settings(request: PersonRequest) -> HttpResponse:
    """Shows the rules of the person's team, or lists their teams."""
    teams = own_teams(request.user)
    if len(teams) == 1:
        return rules_page(request, teams[0].team)
    counts = count_rules([own.team.pk for own in teams])
    lines = [(own, counts[own.team.pk]) for own in teams]
    return settings_page(request, "inbox/people/settings/rules/list.html", lines=lines)


@require_safe
@page
def team_rules(request: PersonRequest, slug: str) -> HttpResponse:
    return rules_page(request, get_object_or_404(teams_of(request.user), slug=slug))


@form_page
@page
def add_rule(request: PersonRequest, slug: str) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=REFUSED)
    form = RuleForm(posted(request), names=Names.of(team))

    def add(rules_version: int, at: datetime) -> None:
        name, terms = form.cleaned_data["rule_name"], form.terms(at=at)
        rules.add(team, name, terms, rules_version=rules_version, by=actor(request), at=at)

    return _form_page(request, team, form, add)


@form_page
@page
def change_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=REFUSED)
    version = _version(team, pk)
    form = RuleForm(posted(request), initial=initial_of(version), names=Names.of(team))

    def change(rules_version: int, at: datetime) -> None:
        name, terms = form.cleaned_data["rule_name"], form.terms(at=at)
        rules.change(
            version.rule, name, terms, rules_version=rules_version, by=actor(request), at=at
        )

    return _form_page(request, team, form, change, version=version)


@require_POST
@page
def move_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Moves the rule one place, as `to` says: `up` or `down`."""
    up = request.POST.get("to") == "up"
    return _changed(request, slug, pk, lambda rule, **given: rules.move(rule, up=up, **given))


@require_POST
@page
def switch_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Turns the rule on or off, as `state` says."""
    on = request.POST.get("state") == Rule.State.ON
    return _changed(request, slug, pk, lambda rule, **given: rules.switch(rule, on=on, **given))


@form_page
@page
def remove_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Asks for confirmation on GET and removes on POST."""
    if request.method != "POST":
        team = team_of_an_owner(request, slug, refusal=REFUSED)
        return confirmation_page(
            request,
            title=f"Remove the rule “{_version(team, pk).rule.name}”",
            text="It assigns no more deliveries, and this can't be undone. Deliveries that it "
            "already assigned stay assigned.",
            action="Remove rule",
            back=reverse("settings-team-rules", args=[team.slug]),
        )
    return _changed(request, slug, pk, rules.remove)


def rules_page(request: PersonRequest, team: Team, **context: Any) -> HttpResponse:
    """Renders the list of a team's rules, which every member may see."""
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
    is_full = len(lines) >= rules.MOST_RULES
    has_other_teams = teams_of(request.user).count() > 1
    context = {"team": team, "lines": lines, "now": now, "is_full": is_full, **context}
    context["has_other_teams"] = has_other_teams
    context["answering"] = answering_lines(team, names, now=now)
    context["answering_is_full"] = len(context["answering"]) >= MOST_ANSWERING
    return settings_page(
        request, "inbox/people/settings/rules/of_a_team.html", can_change=can_change, **context
    )


def _form_page(
    request: PersonRequest,
    team: Team,
    form: RuleForm,
    store: Callable[[int, datetime], None],
    version: RuleVersion | None = None,
) -> HttpResponse:
    """Shows the form, or stores what was sent. A form whose rules have changed meanwhile is shown
    with what was typed, so that it can be sent again."""
    if form.is_valid():
        try:
            store(_rules_version(request), database_now())
        except (rules.RulesChanged, rules.TooManyRules, rules.BadRule) as reason:
            form.add_error(None, str(reason))
            team.refresh_from_db(fields=["rules_version"])
        else:
            messages.success(request, "Saved.")
            return SeeOther("settings-team-rules", slug=team.slug)
    return settings_page(
        request, "inbox/people/settings/rules/rule.html", team=team, form=form, version=version
    )


def _changed(
    request: PersonRequest, slug: str, pk: UUID, change: Callable[..., object]
) -> HttpResponse:
    """Makes the change unless the rules have changed since the page was made."""
    team = team_of_an_owner(request, slug, refusal=REFUSED)
    rule = _version(team, pk).rule
    try:
        change(rule, rules_version=_rules_version(request), by=actor(request), at=database_now())
    except rules.RulesChanged as reason:
        messages.warning(request, str(reason))
    return SeeOther("settings-team-rules", slug=team.slug)


def _version(team: Team, pk: UUID) -> RuleVersion:
    """Returns what the rule says now; raises Http404 for a rule of another team or a removed
    one."""
    found = RuleVersion.objects.of_team(team).of_rule(pk).first()
    if found is None:
        raise Http404
    return found


def _rules_version(request: PersonRequest) -> int:
    """Returns the version of the rules that the page showed; 0 for a text that is none, which is
    the version of a team without rules."""
    text = request.POST.get("rules_version", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0
