"""Owners invite by mail or by a link, which is shown once; who has it joins, or signs up first."""

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
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from accounts import invitations, members
from accounts.models import Invitation, Membership, Team, User
from accounts.throttles import TooMany, client_address, count_sign_up, may_mail_an_invitation
from inbox.forms_teams import InvitationForm, SignUpForm
from inbox.mail import reaches_people
from inbox.views.members import team_of_an_owner
from inbox.views.page import PersonRequest, SeeOther, actor, form_page, page, too_many
from inbox.views.password_again import password_again
from inbox.views.settings import saved, settings_page

# The same for who is new and for an address that somebody has: nothing tells which it was.
SIGN_IN_NOW = (
    "Now sign in: with the password that you just chose or, if you have signed in here before, "
    "with the one that you had."
)


@form_page
@page
@password_again
def invite(request: PersonRequest, slug: str) -> HttpResponse:
    team = team_of_an_owner(request, slug)
    if request.method != "POST":
        initial = {"role": Membership.Role.REVIEWER, "seen": team.invitations.count()}
        return _form(request, team, InvitationForm(initial=initial))
    return _invite(request, team, InvitationForm(request.POST))


@require_POST
@page
def revoke(request: PersonRequest, slug: str, pk: UUID) -> HttpResponse:
    team = team_of_an_owner(request, slug)
    invitation = get_object_or_404(team.invitations, pk=pk)
    invitations.revoke(invitation, by=actor(request), at=timezone.now())
    return saved(
        request, "settings-members", "The invitation is taken back. Its link works no more."
    )


@sensitive_post_parameters()
@never_cache
@form_page
def join(request: HttpRequest, token: str) -> HttpResponse:
    """What the link of an invitation leads to, for who is signed in and for who is not."""
    invitation = invitations.find(token, at=timezone.now())
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
    """One at a time for each team: a double click, too, makes one. No redirect after a link: it is
    nowhere else, and this is the only time that it is shown."""
    members.hold(team.pk)
    if not form.is_valid():
        return _form(request, team, form)
    if form.cleaned_data["seen"] != team.invitations.count():
        return _made_already(request, team, form)
    email = form.cleaned_data["email"]
    is_mailed = bool(email) and reaches_people() and may_mail_an_invitation(request, email)
    try:
        invitation, text = invitations.invite(
            team,
            role=form.cleaned_data["role"],
            by=request.user,
            at=timezone.now(),
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
        return saved(request, "settings-members", f"An invitation is on its way to {email}.")
    link = settings.WAKE_ORIGIN + reverse("join", args=[text])
    return _shown(request, team, invitation=invitation, link=link)


def _made_already(request: PersonRequest, team: Team, form: InvitationForm) -> HttpResponse:
    """The same form again, or somebody else invited in this moment: nothing was made."""
    role, email = form.cleaned_data["role"], form.cleaned_data["email"]
    made = invitations.made_just_now(
        team, role=role, email=email, by=request.user, at=timezone.now()
    )
    if made and (made.mail_due_at or made.mailed_at):
        return saved(request, "settings-members", f"An invitation is on its way to {made.email}.")
    return _shown(request, team, made=made, status=HTTPStatus.GONE)


def _form(request: PersonRequest, team: Team, form: InvitationForm) -> HttpResponse:
    sends = reaches_people()
    return settings_page(request, "members_invite", team=team, form=form, sends_mail=sends)


def _shown(
    request: PersonRequest, team: Team, *, status: int = HTTPStatus.OK, **context: Any
) -> HttpResponse:
    response = settings_page(request, "members_invited", team=team, now=timezone.now(), **context)
    response.status_code = status
    return response


def _join(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    if request.method != "POST":
        is_member = user.teams.contains(invitation.team)
        context = {"invitation": invitation, "is_member": is_member}
        return render(request, "inbox/join.html", context)
    address = client_address(request)
    try:
        invitations.accept(invitation, by=user, at=timezone.now(), address=address)
    except invitations.AlreadyMember as reason:
        messages.warning(request, str(reason))
    else:
        messages.success(request, f"You are in {invitation.team}.")
    return SeeOther("inbox")


def _sign_up(request: HttpRequest, invitation: Invitation, token: str) -> HttpResponse:
    if request.method != "POST":
        return _ask(request, invitation, SignUpForm(invitation), token)
    form = SignUpForm(invitation, request.POST)
    if not form.is_valid():  # nobody is tried: what was mistyped counts for nothing
        return _ask(request, invitation, form, token)
    try:
        count_sign_up(request)
    except TooMany as error:
        minutes = -(-error.retry_after // 60)
        refused = _ask(request, invitation, SignUpForm(invitation), token, minutes=minutes)
        return too_many(refused, error.retry_after)
    invitations.sign_up(
        invitation,
        email=form.cleaned_data.get("email", invitation.email),
        display_name=form.cleaned_data["display_name"],
        password=form.cleaned_data["new_password1"],
        at=timezone.now(),
        address=client_address(request),
    )
    messages.success(request, SIGN_IN_NOW)
    return SeeOther("login", query=_back(token))


def _ask(
    request: HttpRequest, invitation: Invitation, form: SignUpForm, token: str, **context: Any
) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    context = {"invitation": invitation, "form": form, "back": _back(token), **context}
    return render(request, "inbox/join_new.html", context, status=status)


def _back(token: str) -> str:
    return urlencode({"next": reverse("join", args=[token])})


def _ended(request: HttpRequest, token: str) -> HttpResponse:
    """410: used, revoked, too old, or never one. Who came in by it, and signed in since, goes on to
    the inbox."""
    if isinstance(request.user, User) and (team := invitations.joined_by(request.user, token)):
        messages.success(request, f"You are in {team}.")
        return SeeOther("inbox")
    return render(request, "inbox/join_ended.html", status=HTTPStatus.GONE)
