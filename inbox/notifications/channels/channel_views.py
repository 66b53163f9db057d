"""Shows one channel: verifies it, changes which events it sends, tests and removes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.access.owners import owners_only, still_owned
from accounts.access.requests import PersonRequest, actor
from accounts.limits.throttles import TooManyRequests
from accounts.sign_in.reauthentication import ask_if_stale
from database.clock import database_now
from inbox.models import Channel
from inbox.notifications.channels import channels
from inbox.notifications.channels.forms import ChannelCodeForm, ChoiceForm
from inbox.notifications.channels.kinds.registry import KINDS
from inbox.notifications.channels.limits import count_channel_message, count_link_code
from inbox.notifications.channels.listing import ChannelLine, agents_for
from inbox.notifications.channels.transport import TestIsRunning
from pages.confirmation import confirmation_page
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted, settings_page
from pages.times import amount

REFUSED = "Only team owners can change the channels of a team"
TOO_MANY_CODES = "Too many codes today. Try again tomorrow."
WRONG_CODE = (
    "This is not the code that we sent last, or it has expired, or it was tried too often. "
    "Send a new one."
)


@form_page
@page
def channel(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Shows the form for the code. Once the channel is verified, shows the form for its events."""
    found = _find(request, pk)
    if found.verified_at is None:
        return _verify(request, found)
    form = ChoiceForm(posted(request), channel=found, agents=agents_for(found, request.user))
    if form.is_valid():
        data = form.cleaned_data
        with _still_theirs(request, found):
            channels.choose(
                found,
                name=data["name"],
                events=data["events"],
                agents=data.get("agents", []),
                only_assigned=data.get("only_assigned", False),
                limits=form.limits(),
                by=actor(request),
                at=database_now(),
            )
        messages.success(request, "Saved.")
        return SeeOther("settings-channel", pk=found.pk)
    return _page(request, found, form=form)


@require_POST
@page
def send_code(request: PersonRequest, pk: UUID) -> HttpResponse:
    found = _find(request, pk)
    if found.verified_at is None:
        send_first_code(request, found)
    return SeeOther("settings-channel", pk=found.pk)


@require_POST
@page
def send_test(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Sends a test and shows the result."""
    found = _find(request, pk)
    if found.verified_at is not None and _may_send(request, "tests"):
        try:
            result = channels.send_test(found, at=database_now())
        except TestIsRunning as reason:
            messages.warning(request, str(reason))
        else:
            if result.arrived:
                messages.success(request, f"Sent. Look at {found.name}.")
            else:
                messages.warning(request, result.problem)
    return SeeOther("settings-channel", pk=found.pk)


@form_page
@page
def remove_channel(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Asks for confirmation on GET and removes on POST."""
    found = _find(request, pk)
    if request.method != "POST":
        return confirmation_page(
            request,
            title=f"Remove the channel “{found.name}”",
            text="Nothing is sent there any more. To use it again, add it again.",
            action="Remove channel",
            back=reverse("settings-channel", args=[pk]),
        )
    with _still_theirs(request, found):
        channels.remove(found, by=actor(request), at=database_now())
    messages.success(request, "Removed.")
    return SeeOther("settings-notifications")


def send_first_code(request: PersonRequest, channel: Channel) -> None:
    """Sends a code and shows the result."""
    if not _may_send(request, "codes"):
        return
    try:
        result = channels.send_code(channel, at=database_now())
    except TestIsRunning as reason:
        messages.warning(request, str(reason))
        return
    if result.arrived:
        messages.success(request, f"We sent a code to {channel.name}.")
    else:
        messages.warning(request, result.problem)


def _verify(request: PersonRequest, channel: Channel) -> HttpResponse:
    kind = KINDS.get(channel.kind)
    if kind is not None and kind.links_account and (stale := ask_if_stale(request)):
        return stale
    form = ChannelCodeForm(posted(request))
    if form.is_valid():
        try:
            if kind is not None and kind.links_account:
                count_link_code(request)
            with _still_theirs(request, channel):
                is_right = channels.verify(
                    channel, form.cleaned_data["code"], by=actor(request), at=database_now()
                )
        except TooManyRequests:
            form.add_error("code", TOO_MANY_CODES)
            return _page(request, channel, form=form)
        except channels.LinkedElsewhere as reason:
            form.add_error("code", str(reason))
            return _page(request, channel, form=form)
        if is_right:
            messages.success(request, "Verified. Choose what it sends.")
            return SeeOther("settings-channel", pk=channel.pk)
        form.add_error("code", WRONG_CODE)
    return _page(request, channel, form=form)


def _page(
    request: PersonRequest, channel: Channel, *, form: ChoiceForm | ChannelCodeForm
) -> HttpResponse:
    kind = KINDS.get(channel.kind)
    shows_secret = kind is not None and kind.make_secret is not None and channel.verified_at is None
    return settings_page(
        request,
        "inbox/notifications/settings/channel.html",
        channel=channel,
        line=ChannelLine(channel),
        form=form,
        secret=channel.secret if shows_secret else "",
        now=database_now(),
    )


def _find(request: PersonRequest, pk: UUID) -> Channel:
    """Returns the person's own channel, or a channel of a team that they own. Raises Http404 for
    another person's channel, and PermissionDenied for members of the team who do not own it."""
    rows = Channel.objects.of(request.user).select_related("rule", "user", "team", "added_by")
    found = get_object_or_404(rows, pk=pk)
    if found.team_id is not None:
        owners_only(request, found.team_id, refusal=REFUSED)
    return found


@contextmanager
def _still_theirs(request: PersonRequest, channel: Channel) -> Iterator[None]:
    with still_owned(request, channel.team_id) if channel.team_id else transaction.atomic():
        yield


def _may_send(request: PersonRequest, what: str) -> bool:
    try:
        count_channel_message(request)
    except TooManyRequests as reason:
        wait = amount(timedelta(seconds=reason.retry_after))
        messages.warning(request, f"Too many {what}. Try again in {wait}.")
        return False
    return True
