"""Turns notifications on in the browser that opens the page, and keeps its subscription current."""

from __future__ import annotations

from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.middleware.csrf import get_token

from accounts.access.requests import PersonRequest, actor
from accounts.sign_in.browsers import user_agents
from database.clock import database_now
from database.encryption import Unreadable
from inbox.notifications import browsers
from inbox.notifications.channels.channels import AlreadyThere, TooManyChannels
from inbox.notifications.channels.kinds.kind import BadAddress
from inbox.notifications.channels.kinds.web_push import KIND
from inbox.notifications.web_push import vapid
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted, settings_page

LONGEST_SUBSCRIPTION = 4_000


class BrowserForm(forms.Form):
    """Reads the subscription that static/js/web-push.js requested from the browser."""

    subscription = forms.CharField(
        max_length=LONGEST_SUBSCRIPTION,
        error_messages={
            "required": "Your browser sent no subscription. It needs JavaScript for that.",
            "max_length": "This is not the subscription of a browser.",
        },
    )

    def clean_subscription(self) -> str:
        try:
            return KIND.check(self.cleaned_data["subscription"])
        except BadAddress as reason:
            raise forms.ValidationError(str(reason)) from None


@form_page
@page
def add_browser(request: PersonRequest) -> HttpResponse:
    form = BrowserForm(posted(request))
    if form.is_valid():
        try:
            channel = browsers.turn_on(
                request.user,
                form.cleaned_data["subscription"],
                name=user_agents.in_words(request.headers.get("User-Agent", "")),
                here=request.session,
                by=actor(request),
                at=database_now(),
            )
        except (TooManyChannels, AlreadyThere) as reason:
            form.add_error(None, str(reason))
        else:
            messages.success(request, "Turned on. Choose what it sends you.")
            return SeeOther("settings-channel", pk=channel.pk)
    return settings_page(
        request,
        "inbox/notifications/settings/browser_new.html",
        form=form,
        public_key=_public_key(),
        here=browsers.added_here(request.user, request.session),
    )


@form_page
@page
def renewal(request: PersonRequest) -> HttpResponse:
    """Renews the subscription of a browser, for its service worker
    (templates/inbox/pages/service_worker.js). GET returns the public key to subscribe with, or null
    if the browser has no channel; POST stores the new subscription."""
    if request.method != "POST":
        is_on = browsers.added_here(request.user, request.session) is not None
        key = _public_key() if is_on else ""
        return JsonResponse({"key": key or None, "token": get_token(request)})
    form = BrowserForm(request.POST)
    if not form.is_valid():
        return HttpResponse(status=HTTPStatus.UNPROCESSABLE_ENTITY)
    is_renewed = browsers.renew(
        request.user,
        form.cleaned_data["subscription"],
        here=request.session,
        by=actor(request),
        at=database_now(),
    )
    return HttpResponse(status=HTTPStatus.NO_CONTENT if is_renewed else HTTPStatus.CONFLICT)


def _public_key() -> str:
    """Returns the public key, or an empty text if the encryption key of the pair is missing."""
    try:
        return vapid.public_key()
    except Unreadable:
        return ""
