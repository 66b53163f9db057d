"""Lists the members of a person's teams; owners change roles, remove members and
transfer ownership."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST, require_safe

from accounts.access import members
from accounts.access.objects import teams_of
from accounts.access.owners import team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.models import Membership
from accounts.sign_in.reauthentication import requires_password
from accounts.teams.forms import RoleForm
from accounts.teams.own_teams import own_teams_with_invitations
from database.clock import database_now
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import saved, settings_page

MEMBERS_REFUSED = "Only team owners can manage members"


@require_safe
@page
def member_list(request: PersonRequest) -> HttpResponse:
    now = database_now()
    teams = own_teams_with_invitations(request.user, at=now)
    return settings_page(request, "accounts/teams/members/list.html", teams=teams, now=now)


@require_safe
@page
def member_detail(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    membership = _member(request, slug, pk)
    return _page(request, membership, RoleForm(initial={"role": membership.role}))


@require_POST
@page
@requires_password
def change_role(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    membership = _member(request, slug, pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _page(request, membership, form)
    role, by = form.cleaned_data["role"], actor(request)
    return _save(request, membership, lambda: members.change_role(membership, role, by=by))


@require_POST
@page
@requires_password
def remove_member(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    membership, by = _member(request, slug, pk), actor(request)
    message = f"{membership.user} was removed from {membership.team}."
    return _save(request, membership, lambda: members.remove(membership, by=by), message)


@require_POST
@page
@requires_password
def transfer_ownership(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    membership, by = _member(request, slug, pk), actor(request)
    mine = get_object_or_404(membership.team.memberships, user=request.user)
    message = f"{membership.user} now owns {membership.team}. You are a reviewer."
    return _save(
        request, membership, lambda: members.hand_over(mine, to=membership, by=by), message
    )


@form_page
@page
def leave_team(request: PersonRequest, slug: str) -> HttpResponse:
    team = get_object_or_404(teams_of(request.user), slug=slug)
    if request.method != "POST":
        return settings_page(request, "accounts/teams/members/leave.html", team=team)
    mine = get_object_or_404(team.memberships, user=request.user)
    try:
        members.leave(mine, by=actor(request))
    except members.LastOwner as reason:
        refused = settings_page(
            request, "accounts/teams/members/leave.html", team=team, reason=reason
        )
        refused.status_code = HTTPStatus.CONFLICT
        return refused
    except members.NoLongerMember as reason:
        return _no_longer_possible(request, reason)
    return saved(request, "settings-members", f"You left {team}.")


def _member(request: PersonRequest, slug: str, pk: int) -> Membership:
    team = team_of_an_owner(request, slug, refusal=MEMBERS_REFUSED)
    return get_object_or_404(team.memberships.select_related("user", "team"), pk=pk)


def _page(
    request: PersonRequest, membership: Membership, form: RoleForm, **context: Any
) -> HttpResponse:
    return settings_page(
        request,
        "accounts/teams/members/member.html",
        membership=membership,
        form=form,
        **context,
    )


def _save(
    request: PersonRequest,
    membership: Membership,
    change: Callable[[], object],
    message: str = "Saved.",
) -> HttpResponse:
    try:
        change()
    except (members.LastOwner, members.CannotOwn) as reason:
        form = RoleForm(initial={"role": membership.role})
        refused = _page(request, membership, form, reason=reason)
        refused.status_code = HTTPStatus.CONFLICT
        return refused
    except members.NoLongerMember as reason:
        return _no_longer_possible(request, reason)
    return saved(request, "settings-members", message)


def _no_longer_possible(request: PersonRequest, reason: Exception) -> HttpResponse:
    messages.warning(request, str(reason))
    return SeeOther("settings-members")
