"""Lets owners invite people by mail or by a link, and lets invited people join or sign up."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from accounts.access import invitations, members
from accounts.access.owners import still_owned, team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.limits.throttles import TooManyRequests, client_address
from accounts.models import Invitation, Membership, Team, User
from accounts.sign_in.browsers import sessions
from accounts.sign_in.oidc.provider import configured
from accounts.sign_in.pages.views import passwords_are_off, sign_in
from accounts.sign_in.reauthentication import requires_password
from accounts.teams.forms import InvitationForm, SignUpForm
from accounts.teams.limits import count_sign_up, may_mail_an_invitation
from accounts.teams.member_views import MEMBERS_REFUSED
from accounts.teams.sign_ups import sign_up
from database.clock import database_now
from pages.mail import reaches_people
from pages.page import form_page, page, too_many
from pages.redirects import SeeOther
from pages.settings import saved, settings_page

JOINED = (
    "You joined {}. To hear of a delivery at once, add a channel under Settings, Notifications."
)
SIGN_IN_NOW = "Sign in to join, with the password of your account."


@form_page
@page
@requires_password
def invite_member(request: PersonRequest, slug: str) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=MEMBERS_REFUSED)
    if request.method != "POST":
        initial = {"role": Membership.Role.REVIEWER, "version": team.invitations.count()}
        return _form(request, team, InvitationForm(initial=initial))
    return _invite(request, team, InvitationForm(request.POST))


@require_POST
@page
def revoke_invitation(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=MEMBERS_REFUSED)
    invitation = get_object_or_404(team.invitations, pk=pk)
    with still_owned(request, team.pk):
        invitations.revoke(invitation, by=actor(request), at=database_now())
    return saved(request, "settings-members", "Invitation revoked. Its link no longer works.")


@sensitive_post_parameters()
@never_cache
@form_page
def join_team(request: HttpRequest, token: str) -> HttpResponse:
    """Opens an invitation for a person who is signed in or not."""
    invitation = invitations.find(token, at=database_now())
    if invitation is None:
        return _ended(request, token)
    try:
        if isinstance(request.user, User):
            return _join(request, invitation, request.user)
        return _sign_up(request, invitation, token)
    except invitations.InvitationEnded:
        return _ended(request, token)


@transaction.atomic
def _invite(request: PersonRequest, team: Team, form: InvitationForm) -> HttpResponse:
    """Creates one invitation at a time for each team, so that a double click creates only one
    invitation. A link is shown without a redirect, because it is shown only once."""
    members.hold(team.pk)
    if not form.is_valid():
        return _form(request, team, form)
    if form.cleaned_data["version"] != team.invitations.count():
        return _invited_already(request, team, form)
    email = form.cleaned_data["email"]
    is_mailed = bool(email) and reaches_people() and may_mail_an_invitation(request, email)
    try:
        invitation, text = invitations.invite(
            team,
            role=form.cleaned_data["role"],
            by=request.user,
            at=database_now(),
            email=email,
            is_mailed=is_mailed,
            address=client_address(request),
        )
    except invitations.NotAnOwner as reason:
        raise PermissionDenied(str(reason)) from None
    except invitations.TooManyInvitations as reason:
        form.add_error(None, str(reason))
        return _form(request, team, form)
    if is_mailed:
        return saved(request, "settings-members", f"Invitation sent to {invitation.email}.")
    link = settings.WAKE_ORIGIN + reverse("join", args=[text])
    return _invited_page(request, team, invitation=invitation, link=link)


def _invited_already(request: PersonRequest, team: Team, form: InvitationForm) -> HttpResponse:
    """Creates no invitation, because the same form was sent twice, or a colleague invited someone
    at the same time."""
    role, email = form.cleaned_data["role"], form.cleaned_data["email"]
    invitation = invitations.made_just_now(
        team, role=role, email=email, by=request.user, at=database_now()
    )
    if invitation and (invitation.mail_due_at or invitation.mailed_at):
        return saved(request, "settings-members", f"Invitation sent to {invitation.email}.")
    return _invited_page(request, team, invitation=invitation, status=HTTPStatus.GONE)


def _form(request: PersonRequest, team: Team, form: InvitationForm) -> HttpResponse:
    sends = reaches_people()
    return settings_page(
        request, "accounts/teams/members/invite.html", team=team, form=form, sends_mail=sends
    )


def _invited_page(
    request: PersonRequest, team: Team, *, status: int = HTTPStatus.OK, **context: Any
) -> HttpResponse:
    response = settings_page(
        request,
        "accounts/teams/members/invited.html",
        team=team,
        now=database_now(),
        **context,
    )
    response.status_code = status
    return response


def _join(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    if request.method != "POST":
        is_member = user.teams.contains(invitation.team)
        context = {"invitation": invitation, "is_member": is_member}
        return render(request, "accounts/teams/join.html", context)
    address = client_address(request)
    try:
        invitations.accept(invitation, by=user, at=database_now(), address=address)
    except invitations.AlreadyMember as reason:
        messages.warning(request, str(reason))
    else:
        messages.success(request, JOINED.format(invitation.team))
    return SeeOther("inbox")


def _sign_up(request: HttpRequest, invitation: Invitation, token: str) -> HttpResponse:
    if request.method != "POST":
        return _ask(request, invitation, SignUpForm(invitation), token)
    if not settings.WAKE_PASSWORDS:
        return passwords_are_off(request)
    form = SignUpForm(invitation, request.POST)
    if not form.is_valid():  # an invalid form tries no address, so it is not counted
        return _ask(request, invitation, form, token)
    try:
        count_sign_up(request)
    except TooManyRequests as error:
        minutes = -(-error.retry_after // 60)
        refused = _ask(request, invitation, SignUpForm(invitation), token, minutes=minutes)
        return too_many(refused, error.retry_after)
    user = sign_up(
        invitation,
        email=form.cleaned_data.get("email", invitation.email),
        display_name=form.cleaned_data["display_name"],
        password=form.cleaned_data["new_password1"],
        at=database_now(),
        address=client_address(request),
    )
    if user is None:
        messages.success(request, SIGN_IN_NOW)
        return SeeOther("login", query=_back(token))
    messages.success(request, JOINED.format(invitation.team))
    return sign_in(request, user, to=reverse("inbox"), methods=[sessions.PWD])


def _ask(
    request: HttpRequest, invitation: Invitation, form: SignUpForm, token: str, **context: Any
) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    context = {
        **{"invitation": invitation, "form": form, "back": _back(token), "token": token},
        **{"provider": configured(), "passwords": settings.WAKE_PASSWORDS},
        **context,
    }
    return render(request, "accounts/teams/join_new.html", context, status=status)


def _back(token: str) -> str:
    return urlencode({"next": reverse("join", args=[token])})


def _ended(request: HttpRequest, token: str) -> HttpResponse:
    """Answers 410 for an invitation that was used, was revoked, has expired or never existed. A
    person who joined by this invitation continues to the inbox."""
    if isinstance(request.user, User) and (team := invitations.joined_by(request.user, token)):
        messages.success(request, JOINED.format(team))
        return SeeOther("inbox")
    return render(request, "accounts/teams/join_ended.html", status=HTTPStatus.GONE)
