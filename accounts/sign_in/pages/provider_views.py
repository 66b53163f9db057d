"""Signs people in with an account at the provider, connects such an account, and lets the provider
ask a person again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from accounts.access import invitations
from accounts.access.requests import PersonRequest, actor
from accounts.limits.throttles import TooManyRequests, client_address
from accounts.models import User
from accounts.sign_in.browsers import sessions
from accounts.sign_in.limits import count_provider_sign_in
from accounts.sign_in.oidc import authorization, identities, problems, tokens
from accounts.sign_in.oidc.authorization import Attempt
from accounts.sign_in.oidc.provider import Provider, configured
from accounts.sign_in.oidc.tokens import Account
from accounts.sign_in.pages.views import sign_in
from accounts.sign_in.reauthentication import requires_password
from accounts.sign_in.two_step import pending_second_factor, second_factor
from database.clock import database_now
from pages.page import page, too_many
from pages.redirects import SeeOther, next_path, see_path
from pages.settings import saved

log = logging.getLogger(__name__)

CONNECTED = "Connected. You can sign in with {name} now."
DISCONNECTED = "Disconnected from {name}."
MAX_EARLIER_SECONDS = 60.0  # the provider's clock may be behind by this many seconds


def explains_problems(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Shows a page that explains the problem and the next step, instead of an error. Passes the
    provider to the view. Without a provider, shows the sign-in page."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        provider = configured()
        if provider is None:
            return SeeOther("login")
        try:
            return view(request, provider, *args, **kwargs)
        except problems.Problem as problem:
            return _explain(request, provider, problem)

    return guarded


@sensitive_post_parameters()
@never_cache
@require_POST
@explains_problems
def begin_sign_in(request: HttpRequest, provider: Provider) -> HttpResponse:
    """Takes a signed-out person to the provider, from the sign-in page or an invitation."""
    to, invitation = next_path(request), request.POST.get("invitation", "")
    if invitation:
        to = reverse("join", args=[invitation])
    return _leave(request, provider, authorization.SIGN_IN, to=to, invitation=invitation)


@never_cache
@require_POST
@page
@explains_problems
def ask_again(request: PersonRequest, provider: Provider) -> HttpResponse:
    """Takes a signed-in person to the provider, to sign in there again."""
    return _leave(request, provider, authorization.AGAIN, to=next_path(request))


@require_POST
@page
@requires_password
@explains_problems
def connect_account(request: PersonRequest, provider: Provider) -> HttpResponse:
    to = reverse("settings-security")
    return _leave(request, provider, authorization.CONNECT, to=to)


@require_POST
@page
@requires_password
@explains_problems
def disconnect_account(request: PersonRequest, provider: Provider) -> HttpResponse:
    if identities.disconnect(request.user, provider, by=actor(request)):
        request.user.refresh_from_db()
        update_session_auth_hash(request, request.user)
    return saved(request, "settings-security", DISCONNECTED.format(name=provider.name))


@never_cache
@require_safe
@explains_problems
def come_back(request: HttpRequest, provider: Provider) -> HttpResponse:
    """Continues when the provider sends the browser back."""
    now = database_now()
    attempt, code = authorization.finish(request.session, provider, request.GET, at=now)
    if attempt.person is not None and attempt.person != request.user.pk:
        raise problems.SignedOutMeanwhile(problems.SignedOutMeanwhile.__doc__)
    account = tokens.redeem(provider, code, attempt=attempt, at=now)
    match attempt.purpose:
        case authorization.CONNECT:
            return _connect(request, provider, attempt, account)
        case authorization.AGAIN:
            return _confirm(request, provider, attempt, account)
    try:
        return _sign_in(request, provider, attempt, account)
    except invitations.InvitationEnded:
        return SeeOther("join", token=attempt.invitation)


def _leave(
    request: HttpRequest, provider: Provider, purpose: str, *, to: str, invitation: str = ""
) -> HttpResponse:
    """Shows a page that continues to the provider by itself. The content security policy would stop
    a redirect, because it lets no form lead to another site."""
    try:
        count_provider_sign_in(request)
    except TooManyRequests as error:
        problem = problems.TooManySignIns(error.retry_after)
        return too_many(_explain(request, provider, problem), error.retry_after)
    address = authorization.begin(
        request.session,
        provider,
        purpose,
        to=to,
        redirect_uri=settings.WAKE_ORIGIN + reverse("provider-back"),
        at=database_now(),
        person=request.user.pk,
        invitation=invitation,
        time_zone=request.POST.get("time_zone", "")[:64],
    )
    context = {"provider": provider, "address": address}
    return render(request, "accounts/sign_in/oidc/leaving.html", context)


def _sign_in(
    request: HttpRequest, provider: Provider, attempt: Attempt, account: Account
) -> HttpResponse:
    now, address = database_now(), client_address(request)
    invitation = invitations.find(attempt.invitation, at=now)
    if attempt.invitation and invitation is None:
        return SeeOther("join", token=attempt.invitation)
    user = identities.person_of(account, provider, invitation=invitation, at=now, address=address)
    to, how = attempt.to, _how(provider, account, at=now.timestamp())
    if team := invitations.joined_by(user, attempt.invitation):
        messages.success(request, f"You joined {team}.")
        to = reverse("inbox")
    if second_factor.is_on(user) and not account.used_second_factor:
        pending_second_factor.begin(request.session, user, to=to, at=now, provider=how)
        return SeeOther("sign-in-code")
    methods = [sessions.FED]
    return sign_in(request, user, to=to, methods=methods, how=how, time_zone=attempt.time_zone)


def _connect(
    request: HttpRequest, provider: Provider, attempt: Attempt, account: Account
) -> HttpResponse:
    assert isinstance(request.user, User)  # noqa: S101 - come_back compared the person
    address = client_address(request)
    identities.connect(request.user, account, provider, at=database_now(), address=address)
    messages.success(request, CONNECTED.format(name=provider.name))
    return SeeOther("settings-security")


def _confirm(
    request: HttpRequest, provider: Provider, attempt: Attempt, account: Account
) -> HttpResponse:
    """Treats the new sign-in like the password. The provider must say that it asked the person just
    now, unless the operator configured that the provider cannot say this."""
    assert isinstance(request.user, User)  # noqa: S101 - come_back compared the person
    if not identities.is_the_same(request.user, account, provider):
        raise problems.OtherAccount(problems.OtherAccount.__doc__)
    if provider.asks_again and account.authenticated_at < attempt.began_at - MAX_EARLIER_SECONDS:
        raise problems.NotAskedAgain(problems.NotAskedAgain.__doc__)
    sessions.provider_asked_again(request.session, at=database_now())
    return see_path(attempt.to)


def _how(provider: Provider, account: Account, *, at: float) -> sessions.ByProvider:
    asked_at = account.authenticated_at if provider.asks_again else at
    return sessions.ByProvider(asked_at, asked_for_factor=account.used_second_factor)


def _explain(request: HttpRequest, provider: Provider, problem: problems.Problem) -> HttpResponse:
    context = {
        "provider": provider,
        "title": problem.title.format(name=provider.name),
        "advice": problem.advice.format(name=provider.name),
    }
    log.info("A sign-in with the provider ended: %s", type(problem).__name__)
    status = problem.status
    return render(request, "accounts/sign_in/oidc/problem.html", context, status=status)
