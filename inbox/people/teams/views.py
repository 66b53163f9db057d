"""The teams of a person: everybody may make one, and owners name theirs."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_POST

from accounts import teams
from accounts.throttles import client_address
from inbox.forms_teams import TeamForm
from inbox.teams import own_teams
from inbox.views.members import team_of_an_owner
from inbox.views.page import PersonRequest, actor, form_page, page
from inbox.views.settings import posted, saved, settings_page


@form_page
@page
def show(request: PersonRequest) -> HttpResponse:
    """With the form for one more."""
    form = TeamForm(posted(request))
    if not form.is_valid():
        return _show(request, form, team_id=None)
    name, address = form.cleaned_data["team_name"], client_address(request)
    try:
        team = teams.create(name, owner=request.user, address=address)
    except teams.TooManyTeams as reason:
        form.add_error(None, str(reason))
        return _show(request, form, team_id=None)
    return saved(request, "settings-teams", f"{team} is yours. Invite others under Members.")


@require_POST
@page
def rename(request: PersonRequest, slug: str) -> HttpResponse:
    team = team_of_an_owner(request, slug)
    form = TeamForm(request.POST, auto_id=f"team-{team.pk}-%s")
    if not form.is_valid():
        return _show(request, form, team_id=team.pk)
    teams.rename(team, form.cleaned_data["team_name"], by=actor(request))
    return saved(request, "settings-teams")


def _show(request: PersonRequest, form: TeamForm, *, team_id: int | None) -> HttpResponse:
    """With the form that was sent in its own place."""
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
    return settings_page(request, "teams", lines=lines, form=form, new=new)
