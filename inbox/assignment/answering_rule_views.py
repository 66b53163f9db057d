"""Shows the answering rules of a team, with what they would have approved and what they did;
owners change them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.timezone import is_aware
from django.views.decorators.http import require_POST, require_safe

from accounts.access.objects import is_owner, teams_of
from accounts.access.owners import team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.models import Team
from database.clock import database_now
from inbox.assignment.forms import AnsweringRuleForm, match_of
from inbox.assignment.sentences import Names, matches
from inbox.people.sign_in.reauthentication import ask_if_stale
from pages.confirmation import confirmation_page
from pages.page import form_page, page, posted_text
from pages.redirects import SeeOther
from pages.settings import posted, settings_page
from wake.answering import results, rules
from wake.answering.refusals import refusals
from wake.assignment.rules import BadRule, RulesChanged
from wake.models import AnsweringRule, AnsweringVersion, Trial

REFUSED = "Only team owners can change answering rules"
AT_ONCE = 50
MOST_DIGITS = 9
LONGEST_REASON = 280


def answering_lines(team: Team, names: Names, *, now: datetime) -> list[dict[str, Any]]:
    """Returns a line for each rule of the team that answers; two queries."""
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
    """Shows what a rule says, how people answered what it matches, and what it approved."""
    team = get_object_or_404(teams_of(request.user), slug=slug)
    return _rule_page(request, team, _version(team, pk))


@form_page
@page
def add_answering_rule(request: PersonRequest, slug: str) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=REFUSED)
    form = AnsweringRuleForm(posted(request), names=Names.of(team))

    def add(at: datetime) -> AnsweringRule:
        name, terms = form.cleaned_data["rule_name"], form.terms(at=at)
        return rules.add(team, name, terms, by=actor(request), at=at)

    return _form_page(request, team, form, add)


@form_page
@page
def change_answering_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=REFUSED)
    version = _version(team, pk)
    initial = {
        **match_of(version),
        "rule_name": version.rule.name,
        "most_a_day": version.most_a_day,
        "ask_people_days": version.ask_people_days,
    }
    form = AnsweringRuleForm(posted(request), initial=initial, names=Names.of(team))

    def change(at: datetime) -> AnsweringRule:
        name, terms, seen = form.cleaned_data["rule_name"], form.terms(at=at), _seen(request)
        return rules.change(version.rule, name, terms, version=seen, by=actor(request), at=at)

    return _form_page(request, team, form, change, version=version)


@require_POST
@page
def switch_answering_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Turns the rule on or off or back to shadow, as `state` says. To turn it on, the person gives
    their password again."""
    team = team_of_an_owner(request, slug, refusal=REFUSED)
    version, state = _version(team, pk), request.POST.get("state")
    is_on, is_shadow = state == AnsweringRule.State.ON, state == AnsweringRule.State.SHADOW
    if is_on and (stale := ask_if_stale(request)):
        return stale
    reason = posted_text(request, "reason")[:LONGEST_REASON]
    given: dict[str, Any] = {"version": _seen(request), "by": actor(request), "at": database_now()}
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
    """Ends the days in which deliveries go to people after a refusal. `seen` is the time of the
    newest refusal on the page. The person gives their password again."""
    team = team_of_an_owner(request, slug, refusal=REFUSED)
    rule = _version(team, pk).rule
    if stale := ask_if_stale(request):
        return stale
    seen = _time(request.POST.get("seen", ""))
    given: dict[str, Any] = {"version": _seen(request), "by": actor(request), "at": database_now()}
    if seen is not None:
        try:
            rules.answer_again(rule, seen=seen, **given)
        except RulesChanged as changed:
            messages.warning(request, str(changed))
    return SeeOther("settings-answering-rule", slug=team.slug, pk=pk)


@form_page
@page
def remove_answering_rule(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Asks for confirmation on GET and removes on POST."""
    team = team_of_an_owner(request, slug, refusal=REFUSED)
    if request.method != "POST":
        rule = _version(team, pk).rule
        return confirmation_page(
            request,
            title=f"Remove the rule “{rule.name}”",
            text="It approves nothing more, and this can't be undone. Its answers are kept.",
            action="Remove rule",
            back=reverse("settings-answering-rule", args=[team.slug, pk]),
        )
    try:
        rule = _version(team, pk).rule
        rules.remove(rule, version=_seen(request), by=actor(request), at=database_now())
    except RulesChanged as reason:
        messages.warning(request, str(reason))
    return SeeOther("settings-team-rules", slug=team.slug)


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
    response = settings_page(request, "inbox/people/settings/rules/answering_rule.html", **context)
    if "problem" in context:
        response.status_code = 422
    return response


def _refusal_lines(
    version: AnsweringVersion, names: Names, *, now: datetime
) -> list[dict[str, Any]]:
    """Returns why people answer what the rule matches now, a line for each agent."""
    if version.expires_at <= now:
        return []
    return [
        {"refusal": each, "agent": names.agents.get(str(each.agent_id), "")}
        for each in refusals(version, at=now)
    ]


def _form_page(
    request: PersonRequest,
    team: Team,
    form: AnsweringRuleForm,
    store: Callable[[datetime], AnsweringRule],
    version: AnsweringVersion | None = None,
) -> HttpResponse:
    if form.is_valid():
        try:
            rule = store(database_now())
        except (RulesChanged, rules.TooManyRules, BadRule) as reason:
            form.add_error(None, str(reason))
        else:
            messages.success(request, "Saved. It's a dry run until an owner turns it on.")
            return SeeOther("settings-answering-rule", slug=team.slug, pk=rule.pk)
    return settings_page(
        request,
        "inbox/people/settings/rules/answering_rule_form.html",
        team=team,
        form=form,
        version=version,
    )


def _version(team: Team, pk: UUID) -> AnsweringVersion:
    """Returns what the rule says now; raises Http404 for a rule of another team or a removed
    one."""
    found = AnsweringVersion.objects.of_team(team).of_rule(pk).first()
    if found is None:
        raise Http404
    return found


def _seen(request: PersonRequest) -> int:
    """Returns the version of the rule that the page showed; 0, which no rule has, for a text that
    is none."""
    text = request.POST.get("version", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0


def _time(text: str) -> datetime | None:
    """Returns an instant that the page wrote, or None for another text."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if is_aware(instant) else None
