"""Shows who may connect clients to the teams that a person owns, and which clients. Owners can
change both."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from accounts.access.objects import teams_owned_by
from accounts.access.owners import team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.oauth import policies
from accounts.oauth.pages.forms import PolicyForm
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from pages.page import form_page, page
from pages.settings import posted, saved, settings_page

REFUSED = "Only team owners can change which clients may connect"


@require_safe
@page
def client_settings(request: PersonRequest) -> HttpResponse:
    owned = teams_owned_by(request.user).select_related("client_policy")
    teams = [(team, policies.policy_of(team)) for team in owned]
    return settings_page(request, "accounts/oauth/settings/policies.html", teams=teams)


@form_page
@page
@requires_password
def change_policy(request: PersonRequest, slug: str) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=REFUSED)
    policy = policies.policy_of(team)
    form = PolicyForm(posted(request), initial={"who": policy.who, "hosts": policy.hosts})
    if not form.is_valid():
        return settings_page(request, "accounts/oauth/settings/policy.html", team=team, form=form)
    policies.change(
        team,
        who=form.cleaned_data["who"],
        hosts=form.cleaned_data["hosts"],
        by=actor(request),
        at=database_now(),
    )
    return saved(request, "settings-clients")
