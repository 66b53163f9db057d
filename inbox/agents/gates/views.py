"""Shows the gate keys of the teams that a person owns. Owners issue and revoke keys, and each key
is shown only once."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access.objects import teams_owned_by
from accounts.access.owners import still_owned
from accounts.access.requests import PersonRequest, actor
from accounts.agents import gates
from accounts.models import Gate, Team
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from inbox.agents.gates.forms import GateForm
from pages.confirmation import confirmation_page
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted, settings_page


@require_safe
@page
def gate_settings(request: PersonRequest) -> HttpResponse:
    now = database_now()
    teams = teams_owned_by(request.user)
    lines: dict[int, list[tuple[Gate, bool]]] = {team.pk: [] for team in teams}
    for gate in Gate.objects.of_teams(teams):
        lines[gate.team_id].append((gate, gate.is_usable(now)))
    of_teams = [(team, lines[team.pk]) for team in teams]
    return settings_page(request, "inbox/agents/gates/gates.html", teams=of_teams, now=now)


@form_page
@page
@requires_password
def issue_gate(request: PersonRequest, slug: str) -> HttpResponse:
    """Issues a key under the team's lock, so that a double click issues only one. Answers with the
    page and not with a redirect, because the key is never shown again."""
    team = _owned(request, slug)
    form = GateForm(posted(request), team=team)
    if not form.is_valid():
        return _form(request, team, form)
    data, by, now = form.cleaned_data, actor(request), database_now()
    with still_owned(request, team.pk):
        if data["version"] != team.gates.count():
            gone = settings_page(request, "inbox/agents/gates/show_once.html", team=team)
            gone.status_code = HTTPStatus.GONE
            return gone
        try:
            gate, text = gates.issue(
                team,
                name=data["name"],
                agents=data["agents"],
                by=by,
                expires_at=form.expires_at(at=now),
                at=now,
            )
        except gates.TooManyGates as reason:
            form.add_error(None, str(reason))
            return _form(request, team, form)
    return settings_page(
        request, "inbox/agents/gates/show_once.html", team=team, gate=gate, text=text
    )


@form_page
@page
@requires_password
def revoke_gate(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    """Asks for confirmation on GET and revokes on POST."""
    team = _owned(request, slug)
    gate = get_object_or_404(team.gates, pk=pk)
    if request.method != "POST":
        return confirmation_page(
            request,
            title=f"Revoke the key of {gate}",
            text="The key stops working immediately, and this can't be undone. The service that "
            "still has it can no longer use approvals.",
            action="Revoke key",
            back=reverse("settings-gates"),
        )
    with still_owned(request, team.pk):
        gates.revoke(gate, by=actor(request), at=database_now())
    messages.success(request, f"The key of {gate} was revoked. It no longer works.")
    return SeeOther("settings-gates")


def _owned(request: PersonRequest, slug: str) -> Team:
    """Returns the team. Raises Http404 unless the person owns the team, because only owners may
    know about its gate keys."""
    return get_object_or_404(teams_owned_by(request.user), slug=slug)


def _form(request: PersonRequest, team: Team, form: GateForm) -> HttpResponse:
    return settings_page(request, "inbox/agents/gates/new.html", team=team, form=form)
