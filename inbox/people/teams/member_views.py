"""Who is in a person's teams; owners give roles, remove members and hand the team over."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts import members
from accounts.access import is_owner, teams_of
from accounts.models import Membership, Team
from inbox.forms_teams import RoleForm
from inbox.teams import own_teams_with_invitations
from inbox.views.page import PersonRequest, SeeOther, actor, form_page, page
from inbox.views.password_again import password_again
from inbox.views.settings import saved, settings_page

OWNERS_ONLY = "Only owners of the team change who is in it"


@require_safe
@page
def show(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    teams = own_teams_with_invitations(request.user, at=now)
    return settings_page(request, "members", teams=teams, now=now)


@require_safe
@page
@password_again
def member(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    membership = _member(request, slug, pk)
    return _page(request, membership, RoleForm(initial={"role": membership.role}))


@require_POST
@page
@password_again
def role(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    membership = _member(request, slug, pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _page(request, membership, form)
    wanted, by = form.cleaned_data["role"], actor(request)
    return _done(request, membership, lambda: members.change_role(membership, wanted, by=by))


@require_POST
@page
@password_again
def remove(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    membership, by = _member(request, slug, pk), actor(request)
    words = f"{membership.user} is no longer in {membership.team}."
    return _done(request, membership, lambda: members.remove(membership, by=by), words)


@require_POST
@page
@password_again
def hand_over(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    membership, by = _member(request, slug, pk), actor(request)
    mine = get_object_or_404(membership.team.memberships, user=request.user)
    words = f"{membership.user} owns {membership.team} now. You review."
    return _done(request, membership, lambda: members.hand_over(mine, to=membership, by=by), words)


@form_page
@page
def leave(request: PersonRequest, slug: str) -> HttpResponse:
    team = get_object_or_404(teams_of(request.user), slug=slug)
    if request.method != "POST":
        return settings_page(request, "members_leave", team=team)
    mine = get_object_or_404(team.memberships, user=request.user)
    try:
        members.leave(mine, by=actor(request))
    except members.LastOwner as reason:
        refused = settings_page(request, "members_leave", team=team, reason=reason)
        refused.status_code = HTTPStatus.CONFLICT
        return refused
    except members.NoLongerMember as reason:
        return _gone(request, reason)
    return saved(request, "settings-members", f"You left {team}.")


def team_of_an_owner(request: PersonRequest, slug: str) -> Team:
    """Not theirs and not there are the same 404."""
    team = get_object_or_404(teams_of(request.user), slug=slug)
    if not is_owner(request.user, team.pk):
        raise PermissionDenied(OWNERS_ONLY)
    return team


def _member(request: PersonRequest, slug: str, pk: int) -> Membership:
    team = team_of_an_owner(request, slug)
    return get_object_or_404(team.memberships.select_related("user", "team"), pk=pk)


def _page(
    request: PersonRequest, membership: Membership, form: RoleForm, **context: Any
) -> HttpResponse:
    return settings_page(request, "members_member", member=membership, form=form, **context)


def _done(
    request: PersonRequest,
    membership: Membership,
    change: Callable[[], object],
    words: str = "Saved.",
) -> HttpResponse:
    try:
        change()
    except (members.LastOwner, members.CannotOwn) as reason:
        form = RoleForm(initial={"role": membership.role})
        refused = _page(request, membership, form, reason=reason)
        refused.status_code = HTTPStatus.CONFLICT
        return refused
    except members.NoLongerMember as reason:
        return _gone(request, reason)
    return saved(request, "settings-members", words)


def _gone(request: PersonRequest, reason: Exception) -> HttpResponse:
    messages.warning(request, str(reason))
    return SeeOther("settings-members")
