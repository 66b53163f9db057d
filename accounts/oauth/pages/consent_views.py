"""Asks a person whether a client may deliver as one of their team's agents (RFC 6749, 4.1)."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from oauth2_provider.cimd import is_cimd_client_id
from oauth2_provider.exceptions import FatalClientError, OAuthToolkitError
from oauth2_provider.http import OAuth2ResponseRedirect
from oauth2_provider.models import Application
from oauth2_provider.oauth2_backends import OAuthLibCore
from oauth2_provider.views.mixins import OAuthLibMixin
from oauthlib.oauth2.rfc6749.errors import (
    AccessDeniedError,
    CustomOAuth2Error,
    InvalidClientIdError,
    InvalidRequestError,
    MismatchingRedirectURIError,
    OAuth2Error,
)

from accounts.access.requests import PersonRequest, actor
from accounts.agents import registration
from accounts.limits.throttles import TooManyRequests
from accounts.oauth import grants
from accounts.oauth.agent_choice import AgentChoiceForm, NoLongerAllowed, proposal_for
from accounts.oauth.clients import Client, describe, site_of
from accounts.oauth.limits import count_document
from accounts.oauth.policies import refusals, teams_that_allow
from accounts.oauth.registration.metadata import is_new_document
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from pages.page import form_page, page, too_many
from pages.settings import posted

S256 = "S256"
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


class _AddressOnly(OAuthLibCore):  # type: ignore[misc] # django-oauth-toolkit has no types
    """Reads the client's request from the address only. The form of the page adds nothing to it."""

    def extract_body(self, request: HttpRequest) -> list[Any]:
        return []


class _AuthorizationServer(OAuthLibMixin):  # type: ignore[misc]
    oauthlib_backend_class = _AddressOnly


server = _AuthorizationServer()

# Says in plain words what oauthlib found. Registrations that no one uses are deleted, so a client
# may be unknown without a fault of its own.
REASONS = {
    InvalidClientIdError: "Wake doesn't know this client. Remove Wake in the client, and add it"
    " again.",
    MismatchingRedirectURIError: "The client didn't register the address that you would go back"
    " to.",
}


@form_page
@page
@requires_password
def authorize(request: PersonRequest) -> HttpResponse:
    """Shows and processes the consent page. The address has the client's request, and is checked
    again with the form. Every answer for the client goes to an address that it registered."""
    try:
        if is_new_document(request.GET.get("client_id", "")):
            count_document(request)
        scopes, credentials = server.validate_authorization_request(request)
        _check(request, credentials)
    except TooManyRequests as problem:
        return _too_many(request, problem.retry_after)
    except FatalClientError as problem:
        return _cannot_answer(request, problem)
    except OAuthToolkitError as problem:
        return _refused(problem.oauthlib_error)
    if request.POST.get("decision") == "refuse":
        return _refused(AccessDeniedError(state=credentials["state"]), credentials)
    return _decide(request, scopes, credentials)


def _decide(request: PersonRequest, scopes: list[str], credentials: dict[str, Any]) -> HttpResponse:
    application: Application = credentials["request"].client
    client = describe(application, credentials["redirect_uri"])
    teams = list(teams_that_allow(request.user, host=client.host))
    form = AgentChoiceForm(
        posted(request), teams=teams, proposal=proposal_for(client.name, request.user)
    )
    if form.is_valid():
        try:
            with transaction.atomic():
                grant = _granted(request, form, client=client, application=application)
                credentials |= {"oauth_grant": grant, "scopes": scopes}
                to, *_ = server.create_authorization_response(
                    request, " ".join(_with_deliver(scopes)), credentials, allow=True
                )
            return _back(to)
        except (ValidationError, registration.AgentIdTaken) as problem:
            form.explain(problem)
        except (grants.TooManyGrants, NoLongerAllowed) as problem:
            form.add_error(None, str(problem))
        except OAuthToolkitError as problem:
            return _refused(problem.oauthlib_error, credentials)
    context = {
        "client": client,
        "form": form,
        "teams": teams,
        "refusals": [] if teams else refusals(request.user),
        "to": credentials["redirect_uri"],
    }
    return _consent(request, context)


def _check(request: PersonRequest, credentials: dict[str, Any]) -> None:
    """Raises OAuthToolkitError if PKCE is not S256, or if the token is for another server. oauthlib
    takes an empty challenge, and would then need no verifier."""
    asked = credentials["request"]
    problem: OAuth2Error | None = None
    if getattr(asked, "code_challenge_method", None) != S256:
        problem = InvalidRequestError(
            description="code_challenge_method must be S256.", state=credentials["state"]
        )
    elif not CHALLENGE.fullmatch(asked.code_challenge or ""):
        problem = InvalidRequestError(
            description="code_challenge must be a SHA-256 in base64url.", state=credentials["state"]
        )
    if any(each != settings.WAKE_OAUTH_RESOURCE for each in request.GET.getlist("resource")):
        problem = CustomOAuth2Error(
            error="invalid_target",
            description=f"resource must be {settings.WAKE_OAUTH_RESOURCE}.",
            state=credentials["state"],
        )
    if problem is not None:
        raise OAuthToolkitError(error=problem, redirect_uri=credentials["redirect_uri"])


def _granted(
    request: PersonRequest, form: AgentChoiceForm, *, client: Client, application: Application
) -> Any:
    by, now = actor(request), database_now()
    agent = form.stored_agent(person=request.user, host=client.host, by=by)
    return grants.begin(
        agent,
        client=client,
        application=application,
        person=request.user,
        by=by,
        at=now,
        ends_at=form.ends_at(at=now),
    )


def _with_deliver(scopes: list[str]) -> list[str]:
    """Returns the scopes with `deliver`, without which a token would allow nothing."""
    return scopes if "deliver" in scopes else ["deliver", *scopes]


def _consent(request: PersonRequest, context: dict[str, Any]) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if context["form"].errors else HTTPStatus.OK
    response = render(request, "accounts/oauth/consent.html", context, status=status)
    # Browsers apply this directive to the redirect after the form, too.
    response._csp_update = {"form-action": [_source(context["to"])]}  # type: ignore[attr-defined]
    return response


def _source(redirect_uri: str) -> str:
    """Returns the address as a source of a content policy. A policy can name no IPv6 address (CSP
    3, 2.3.1), and a browser would then not leave the page."""
    parts = urlsplit(redirect_uri)
    has_name = parts.scheme in {"http", "https"} and not parts.netloc.startswith("[")
    return f"{parts.scheme}://{parts.netloc}" if has_name else f"{parts.scheme}:"


def _too_many(request: PersonRequest, seconds: int) -> HttpResponse:
    context = {"wait": seconds}
    return too_many(render(request, "accounts/oauth/cannot_connect.html", context), seconds)


def _cannot_answer(request: PersonRequest, problem: FatalClientError) -> HttpResponse:
    """Shows a problem that must not be sent to the address of the request, because the client did
    not register that address."""
    error = problem.oauthlib_error
    reason = REASONS.get(type(error)) or error.description or error.error
    context = {"reason": reason, "site": _unread_site(request, problem)}
    status = HTTPStatus.BAD_REQUEST
    return render(request, "accounts/oauth/cannot_connect.html", context, status=status)


def _unread_site(request: PersonRequest, problem: FatalClientError) -> str:
    """Returns the host of the client's metadata document, if the document is the problem."""
    client_id = request.GET.get("client_id", "")
    if isinstance(problem.oauthlib_error, InvalidClientIdError) and is_cimd_client_id(client_id):
        return site_of(client_id)
    return ""


def _refused(error: OAuth2Error, credentials: dict[str, Any] | None = None) -> HttpResponse:
    to = error.redirect_uri or (credentials or {})["redirect_uri"]
    return _back(_with_issuer(error.in_uri(to)))


def _with_issuer(uri: str) -> str:
    """Returns the address with this issuer, and without others (RFC 9207, 2). django-oauth-toolkit
    does so for successful answers only."""
    parts = urlsplit(uri)
    query = [
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name != "iss"
    ]
    return parts._replace(query=urlencode([*query, ("iss", settings.WAKE_OAUTH_ISSUER)])).geturl()


def _back(to: str) -> HttpResponse:
    schemes = settings.OAUTH2_PROVIDER["ALLOWED_REDIRECT_URI_SCHEMES"]
    response: HttpResponse = OAuth2ResponseRedirect(to, schemes)
    return response
