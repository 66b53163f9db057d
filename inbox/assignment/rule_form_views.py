"""Lets owners add, change and remove the rules of a team, of both kinds."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse

from accounts.access.owners import team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.models import Passkey, Team
from database.clock import database_now
from inbox.assignment.forms import AnsweringRuleForm, RuleForm
from inbox.assignment.rule_kinds import KINDS, RuleKind
from inbox.assignment.sentences import Names
from pages.confirmation import confirmation_page
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted, settings_page
from wake.answering.rules import TooManyAnsweringRules as TooManyAnsweringRules
from wake.assignment.rules import BadRule, RulesChanged, TooManyRules

NO_ONE_CAN = (
    "No one who can answer in this team has a passkey. Until someone adds one, deliveries of this "
    "rule can only be rejected."
)
REFUSALS = (RulesChanged, TooManyRules, TooManyAnsweringRules, BadRule)


@form_page
@page
def add_rule(request: PersonRequest, slug: str, kind: RuleKind) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=kind.refused)
    form = kind.form(posted(request), names=Names.of(team))
    return _form_page(request, team, kind, form)


@form_page
@page
def change_rule(request: PersonRequest, slug: str, pk: UUID, kind: RuleKind) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=kind.refused)
    version = kind.newest(team, pk)
    form = kind.form(posted(request), initial=kind.initial(version), names=Names.of(team))
    return _form_page(request, team, kind, form, version)


@form_page
@page
def remove_rule(request: PersonRequest, slug: str, pk: UUID, kind: RuleKind) -> HttpResponse:
    """Asks for confirmation on GET and removes on POST."""
    team = team_of_an_owner(request, slug, refusal=kind.refused)
    rule = kind.newest(team, pk).rule
    if request.method != "POST":
        name, kwargs = _page_of(kind, team, pk)
        return confirmation_page(
            request,
            title=f"Remove the rule “{rule.name}”",
            text=kind.removal,
            action="Remove rule",
            back=reverse(name, kwargs=kwargs),
        )
    try:
        kind.remove(rule, by=actor(request), at=database_now(), **kind.seen_in(request))
    except RulesChanged as reason:
        messages.warning(request, str(reason))
    return SeeOther("settings-team-rules", slug=team.slug)


def _form_page(
    request: PersonRequest,
    team: Team,
    kind: RuleKind,
    form: RuleForm | AnsweringRuleForm,
    version: Any = None,
) -> HttpResponse:
    """Shows the form, or stores the data of the sent form. If the rules have changed meanwhile,
    shows the form again with the typed text, so that the person can send the text again."""
    if form.is_valid():
        try:
            pk = _store(request, team, kind, form, version)
        except REFUSALS as reason:
            form.add_error(None, str(reason))
            team.refresh_from_db(fields=["rules_version"])
        else:
            messages.success(request, kind.saved)
            _warn_if_no_one_can(request, team, form)
            name, kwargs = _page_of(kind, team, pk)
            return SeeOther(name, **kwargs)
    name, kwargs = _page_of(kind, team, version.rule_id if version else None)
    return settings_page(
        request,
        "inbox/assignment/rules/form.html",
        team=team,
        kind=kind,
        kinds=KINDS,
        form=form,
        version=version,
        shown=kind.shown(team, version),
        back=reverse(name, kwargs=kwargs),
    )


def _warn_if_no_one_can(
    request: PersonRequest, team: Team, form: RuleForm | AnsweringRuleForm
) -> None:
    """Says so if the rule asks for passkeys and no one who may answer has one."""
    is_asked = form.cleaned_data.get("needs_signature", False)
    if is_asked and not Passkey.objects.that_answer_in(team).exists():
        messages.warning(request, NO_ONE_CAN)


def _store(
    request: PersonRequest,
    team: Team,
    kind: RuleKind,
    form: RuleForm | AnsweringRuleForm,
    version: Any,
) -> UUID:
    """Returns the id of the rule. Raises one of REFUSALS."""
    at = database_now()
    terms = form.cleaned_data["rule_name"], form.terms(at=at)
    given: dict[str, Any] = {"by": actor(request), "at": at, **kind.seen_in(request)}
    if version is None:
        return kind.add(team, *terms, **given).pk
    kind.change(version.rule, *terms, **given)
    pk: UUID = version.rule_id
    return pk


def _page_of(kind: RuleKind, team: Team, pk: UUID | None) -> tuple[str, dict[str, Any]]:
    """Returns the name and the arguments of the rule's own page, or of the list if the rule has no
    page."""
    if kind.page and pk:
        return kind.page, {"slug": team.slug, "pk": pk}
    return "settings-team-rules", {"slug": team.slug}
