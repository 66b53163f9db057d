"""Shows the teams of a person, and lets the person create more. Owners rename their teams."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.access.moves import moves_of
from accounts.access.owners import still_owned, team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.limits.throttles import client_address
from accounts.sign_in.reauthentication import requires_password
from accounts.teams import teams
from accounts.teams.forms import TeamForm
from accounts.teams.own_teams import own_teams
from pages.confirmation import confirmation_page
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted, saved, settings_page

SECOND_FACTOR_REFUSED = "Only team owners can require two-step sign-in"
SIGNATURES_REFUSED = "Only team owners can require passkeys"
NAME_REFUSED = "Only team owners can rename the team"


@form_page
@page
def team_settings(request: PersonRequest) -> HttpResponse:
    """Shows the teams, and creates one from the form."""
    form = TeamForm(posted(request))
    if not form.is_valid():
        return _show(request, form, team_id=None)
    name, address = form.cleaned_data["team_name"], client_address(request)
    try:
        team = teams.create(name, owner=request.user, address=address)
    except teams.TooManyTeams as reason:
        form.add_error(None, str(reason))
        return _show(request, form, team_id=None)
    return saved(request, "settings-teams", f"{team} was created. Invite people under Members.")


@require_POST
@page
def rename_team(request: PersonRequest, slug: str) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=NAME_REFUSED)
    form = TeamForm(request.POST, auto_id=f"team-{team.pk}-%s")
    if not form.is_valid():
        return _show(request, form, team_id=team.pk)
    with still_owned(request, team.pk):
        teams.rename(team, form.cleaned_data["team_name"], by=actor(request))
    return saved(request, "settings-teams")


@require_POST
@page
@requires_password
def require_second_factor(request: PersonRequest, slug: str) -> HttpResponse:
    """Turns the requirement on or off, depending on `required`."""
    team = team_of_an_owner(request, slug, refusal=SECOND_FACTOR_REFUSED)
    is_required, address = request.POST.get("required") == "yes", client_address(request)
    try:
        with still_owned(request, team.pk):
            teams.require_second_factor(
                team, is_required=is_required, by=request.user, address=address
            )
    except teams.OwnSecondFactorMissing as reason:
        messages.error(request, str(reason))
        return SeeOther("settings-security")
    requires = "now requires" if is_required else "no longer requires"
    return saved(request, "settings-teams", f"{team} {requires} two-step sign-in.")


@form_page
@page
@requires_password
def sign_irreversible(request: PersonRequest, slug: str) -> HttpResponse:
    """Turns the requirement on or off, depending on `required`. Asks first if no one in the team
    could approve irreversible deliveries then."""
    team = team_of_an_owner(request, slug, refusal=SIGNATURES_REFUSED)
    if request.method != "POST":
        return confirmation_page(
            request,
            title=f"Require a passkey in {team.name}",
            text=f"{teams.NoOneHasPasskey.__doc__} Until someone adds one, irreversible "
            "deliveries can only be rejected.",
            action="Require a passkey anyway",
            back=reverse("settings-teams"),
        )
    is_on, address = request.POST.get("required") == "yes", client_address(request)
    try:
        with still_owned(request, team.pk):
            teams.sign_irreversible(
                team,
                is_on=is_on,
                knows_no_one_can=request.POST.get("anyway") == "yes",
                by=request.user,
                address=address,
            )
    except teams.NoOneHasPasskey:
        query = urlencode({"required": "yes", "anyway": "yes"})
        return SeeOther("settings-team-signatures", slug=slug, query=query)
    requires = "now requires" if is_on else "no longer requires"
    message = f"{team} {requires} a passkey to approve irreversible deliveries."
    return saved(request, "settings-teams", message)


def _show(request: PersonRequest, form: TeamForm, *, team_id: int | None) -> HttpResponse:
    """Shows the page, with the sent form under its own team."""
    lines = [
        (
            own,
            form
            if own.team.pk == team_id
            else TeamForm(initial={"team_name": own.team.name}, auto_id=f"team-{own.team.pk}-%s"),
        )
        for own in own_teams(request.user)
    ]
    new = form if team_id is None else TeamForm()
    moves = moves_of(request.user)
    return settings_page(
        request, "accounts/teams/teams.html", lines=lines, form=form, new=new, moves=moves
    )
